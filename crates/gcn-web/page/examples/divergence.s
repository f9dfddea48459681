// |lane - 20| for each lane: lanes below 20 take one way, the others the other way.

	v_mbcnt_lo_u32_b32 v0, -1, 0            // v0 = the number of the lane
	v_mbcnt_hi_u32_b32 v0, -1, v0
	v_subrev_u32_e32 v1, 20, v0             // v1 = lane - 20
	v_cmp_gt_i32_e32 vcc, 0, v1             // lanes whose result is negative ...
	s_and_saveexec_b64 s[0:1], vcc          // ... are active; s[0:1] keeps all lanes
	s_xor_b64 s[0:1], exec, s[0:1]          // s[0:1] = the lanes that wait
	s_cbranch_execz else
	v_sub_u32_e32 v1, 0, v1                 // v1 = -v1
else:
	s_or_saveexec_b64 s[0:1], s[0:1]        // now the others
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz end
	v_add_u32_e32 v1, 100, v1               // 100 more, to tell them apart
end:
	s_or_b64 exec, exec, s[0:1]             // all lanes again
	s_endpgm
