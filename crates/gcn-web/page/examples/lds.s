// Adds up the numbers 1 to 64, a number a lane, in LDS: six rounds, each with half the lanes.

	s_mov_b32 m0, -1                        // gfx8 and older: the limit of LDS addresses
	v_mbcnt_lo_u32_b32 v0, -1, 0
	v_mbcnt_hi_u32_b32 v0, -1, v0           // v0 = the number of the lane
	v_lshlrev_b32_e32 v1, 2, v0             // v1 = its address in LDS
	v_add_u32_e32 v2, vcc, 1, v0            // v2 = its number
	ds_write_b32 v1, v2
	s_mov_b32 s0, 32                        // lanes of this round
round:
	v_cmp_gt_u32_e32 vcc, s0, v0
	s_and_saveexec_b64 s[2:3], vcc          // lanes below s0
	s_lshl_b32 s1, s0, 2
	v_add_u32_e32 v3, vcc, s1, v1           // the address of the partner
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v4, v3
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, vcc, v2, v4
	ds_write_b32 v1, v2
	s_mov_b64 exec, s[2:3]
	s_lshr_b32 s0, s0, 1
	s_cmp_lg_u32 s0, 0
	s_cbranch_scc1 round
	s_waitcnt lgkmcnt(0)
	s_endpgm                                // the sum, 2080, is in v2 of lane 0
