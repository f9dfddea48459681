// Counts in s1 how many steps Collatz's sequence takes from s0 to 1.
//
//     gcn run --raw examples/collatz.s --arch gfx701 --regs examples/registers.toml

	s_mov_b32 s1, 0
next:
	s_cmp_eq_u32 s0, 1
	s_cbranch_scc1 done
	s_and_b32 s2, s0, 1
	s_cbranch_scc0 even
	s_mul_i32 s0, s0, 3
	s_add_u32 s0, s0, 1
	s_branch counted
even:
	s_lshr_b32 s0, s0, 1
counted:
	s_add_u32 s1, s1, 1
	s_branch next
done:
	s_endpgm
