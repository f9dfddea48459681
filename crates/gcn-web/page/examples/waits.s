// The sum of two numbers in memory. The checker reports the missing s_waitcnt at its line.

	s_load_dwordx2 s[2:3], s[0:1], 0x0      // two numbers; the load takes a while
	s_add_u32 s4, s2, s3                    // too early: s_waitcnt lgkmcnt(0) is missing before this line
	v_mov_b32_e32 v0, s4
	s_endpgm
