== address gfx803 gfx900
flat_load_dword v1, v[2:3]              ; ! undefined-register
s_endpgm
== address-written gfx803 gfx900
v_mov_b32 v2, s0
v_mov_b32 v3, s1
flat_load_dword v1, v[2:3]
s_endpgm
== address-copied gfx900
v_mov_b32 v2, v6
v_mov_b32 v3, s1
global_load_dword v1, v[2:3], off       ; ! undefined-register
s_endpgm
== address-written-on-one-path gfx900
s_cmp_eq_u32 s0, 0
s_cbranch_scc1 over
v_mov_b32 v2, s0
v_mov_b32 v3, s1
over:
global_load_dword v1, v[2:3], off
s_endpgm
== scalar-address gfx600 gfx900
s_load_dword s4, s[8:9], 0              ; ! undefined-register
s_endpgm
== scalar-address-of-the-kernel gfx600 gfx900
s_load_dword s4, s[0:1], 0
s_endpgm
== branch gfx900
s_cbranch_scc1 over                     ; ! undefined-register
s_nop 0
over:
s_endpgm
== branch-compared gfx900
s_cmp_eq_u32 s0, 0
s_cbranch_scc1 over
s_nop 0
over:
s_endpgm
== exec gfx900
s_mov_b64 exec, vcc                     ; ! undefined-register
s_endpgm
== exec-compared gfx900
v_cmp_eq_u32 vcc, 0, v0
s_and_saveexec_b64 s[4:5], vcc
s_mov_b64 exec, s[4:5]
s_endpgm
== store gfx900
v_mov_b32 v2, s0
v_mov_b32 v3, s1
global_store_dword v[2:3], v9, off      ; ! undefined-register
s_endpgm
== store-in-part gfx900
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v4, 0
global_store_dwordx4 v[2:3], v[4:7], off
s_endpgm
== lds-without-m0 gfx701 gfx803
ds_read_b32 v1, v0                      ; ! undefined-register
s_endpgm
== lds-with-m0 gfx701 gfx803
s_mov_b32 m0, -1
ds_read_b32 v1, v0
s_endpgm
== lds-needs-no-m0 gfx900
ds_read_b32 v1, v0
s_endpgm
== beyond-vgprs gfx900
v_mov_b32 v200, 0                       ; ! beyond-allocation
s_endpgm
== beyond-sgprs gfx701
s_mov_b32 s80, 0                        ; ! beyond-allocation
s_endpgm
== last-registers gfx701 gfx900
v_mov_b32 v31, 0
s_mov_b32 s59, 0
s_endpgm
