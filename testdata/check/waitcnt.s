== smem-result gfx600 gfx701 gfx803 gfx900
s_load_dword s2, s[0:1], 0
s_add_u32 s3, s2, 1                     ; ! early-use
s_endpgm
== smem-result-waited gfx600 gfx701 gfx803 gfx900
s_load_dword s2, s[0:1], 0
s_waitcnt lgkmcnt(0)
s_add_u32 s3, s2, 1
s_endpgm
== smem-out-of-order gfx600 gfx900
s_load_dword s2, s[0:1], 0
s_load_dword s4, s[0:1], 4
s_waitcnt lgkmcnt(1)
s_add_u32 s3, s2, 1                     ; ! early-use
s_endpgm
== smem-overwritten gfx600 gfx900
s_load_dword s2, s[0:1], 0
s_mov_b32 s2, 0                         ; ! early-overwrite
s_endpgm
== smem-twice gfx600 gfx900
s_load_dword s2, s[0:1], 0
s_load_dword s2, s[0:1], 4              ; ! early-overwrite
s_endpgm
== smem-base-overwritten gfx600 gfx900
s_load_dword s2, s[0:1], 0
s_mov_b32 s0, 0
s_endpgm
== lds-in-order gfx803 gfx900
ds_read_b32 v1, v0
ds_read_b32 v2, v0 offset:4
s_waitcnt lgkmcnt(1)
v_add_f32 v3, v1, v1
v_add_f32 v3, v2, v2                    ; ! early-use
s_endpgm
== lds-among-smem gfx803 gfx900
ds_read_b32 v1, v0
s_load_dword s2, s[0:1], 0
ds_read_b32 v2, v0 offset:4
s_waitcnt lgkmcnt(1)
v_add_f32 v3, v1, v1
s_endpgm
== lds-among-smem-not-enough gfx803 gfx900
ds_read_b32 v1, v0
s_load_dword s2, s[0:1], 0
s_waitcnt lgkmcnt(1)
v_add_f32 v3, v1, v1                    ; ! early-use
s_endpgm
== vmem-in-order gfx600 gfx701 gfx803 gfx900
buffer_load_dword v1, off, s[0:3], 0
buffer_load_dword v2, off, s[0:3], 0 offset:4
buffer_store_dword v9, off, s[0:3], 0 offset:8
s_waitcnt vmcnt(2)
v_mov_b32 v3, v1
v_mov_b32 v3, v2                        ; ! early-use
s_endpgm
== vmem-loop gfx900
loop:
global_load_dword v1, v[4:5], off
s_cmp_eq_u32 s0, 0
s_cbranch_scc1 loop
s_waitcnt vmcnt(0)
v_mov_b32 v2, v1
s_endpgm
== vmem-one-path gfx900
s_cbranch_scc1 other
global_load_dword v1, v[4:5], off
s_branch join
other:
v_mov_b32 v1, 0
join:
v_mov_b32 v2, v1                        ; ! early-use
s_endpgm
== vmem-younger-on-one-path gfx900
global_load_dword v1, v[4:5], off
s_cbranch_scc1 join
global_load_dword v2, v[4:5], off
join:
s_waitcnt vmcnt(1)
v_mov_b32 v3, v1                        ; ! early-use
s_endpgm
== vmem-overwritten-by-valu gfx900
global_load_dword v1, v[4:5], off
v_mov_b32 v1, 0                         ; ! early-overwrite
s_endpgm
== vmem-overwritten-by-vmem gfx900
global_load_dword v1, v[4:5], off
global_load_dword v1, v[4:5], off offset:4
s_waitcnt vmcnt(0)
v_mov_b32 v2, v1
s_endpgm
== vmem-overwritten-by-lds gfx900
global_load_dword v1, v[4:5], off
ds_read_b32 v1, v0                      ; ! early-overwrite
s_endpgm
== atomic-returns gfx803 gfx900
buffer_atomic_add v1, off, s[0:3], 0 glc
v_mov_b32 v2, v1                        ; ! early-use
s_endpgm
== atomic-does-not-return gfx803 gfx900
buffer_atomic_add v1, off, s[0:3], 0
v_mov_b32 v2, v1
s_endpgm
== store-data gfx600
buffer_store_dword v1, off, s[0:3], 0
v_mov_b32 v1, 0                         ; ! overwritten-source
s_endpgm
== store-data-waited gfx600
buffer_store_dword v1, off, s[0:3], 0
v_mov_b32 v2, v1
s_waitcnt expcnt(0)
v_mov_b32 v1, 0
s_endpgm
== store-data-new gfx701 gfx803 gfx900
buffer_store_dword v1, off, s[0:3], 0
v_mov_b32 v1, 0
s_endpgm
== export-source gfx600 gfx701 gfx803 gfx900
exp mrt0 v0, v1, v2, v3 done vm
v_mov_b32 v1, 0                         ; ! overwritten-source
s_endpgm
== export-source-waited gfx600 gfx701 gfx803 gfx900
exp mrt0 v0, v1, v2, v3 done vm
s_waitcnt expcnt(0)
v_mov_b32 v1, 0
s_endpgm
== gds-source gfx803 gfx900
ds_add_u32 v0, v1 gds
v_mov_b32 v1, 0                         ; ! overwritten-source
s_endpgm
== flat-result gfx701 gfx803 gfx900
flat_load_dword v1, v[2:3]
v_mov_b32 v4, v1                        ; ! early-use
s_endpgm
== flat-result-waited gfx701 gfx803 gfx900
flat_load_dword v1, v[2:3]
s_waitcnt vmcnt(0) lgkmcnt(0)
v_mov_b32 v4, v1
s_endpgm
== barrier gfx803 gfx900
ds_write_b32 v0, v1
s_barrier                               ; ! barrier
s_endpgm
== barrier-waited gfx803 gfx900
ds_write_b32 v0, v1
s_waitcnt lgkmcnt(0)
s_barrier
s_endpgm
== barrier-read gfx803 gfx900
ds_read_b32 v1, v0
s_barrier                               ; ? barrier-read
s_endpgm
== invalidate gfx803 gfx900
buffer_atomic_add v1, off, s[0:3], 0
buffer_wbinvl1_vol                      ; ! invalidate
s_endpgm
== invalidate-waited gfx803 gfx900
buffer_atomic_add v1, off, s[0:3], 0
s_waitcnt vmcnt(0)
buffer_wbinvl1_vol
s_endpgm
== d16-halves gfx900
global_load_short_d16 v1, v[2:3], off
global_load_short_d16_hi v1, v[2:3], off offset:2
s_waitcnt vmcnt(0)
v_mov_b32 v4, v1
s_endpgm
== function-entry gfx900 function
v_add_u32 v0, v0, v1                    ; ! entry
s_setpc_b64 s[30:31]
== function-entry-waited gfx900 function
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
v_add_u32 v0, v0, v1
s_setpc_b64 s[30:31]
== function-return gfx900 function
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
global_load_dword v0, v[0:1], off
s_setpc_b64 s[30:31]                    ; ! return
== function-return-waited gfx900 function
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
global_load_dword v0, v[0:1], off
s_waitcnt vmcnt(0)
s_setpc_b64 s[30:31]
== function-tail gfx900 function
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
s_getpc_b64 s[4:5]
s_add_u32 s4, s4, 64
s_addc_u32 s5, s5, 0
global_load_dword v0, v[0:1], off
s_setpc_b64 s[4:5]
