== store-past-end gfx803 gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
v_add_u32 v1, vcc, 4, v1                ; gfx803
v_add_u32 v1, 4, v1                     ; gfx900
v_mov_b32 v3, s5
v_add_u32 v2, vcc, s4, v1               ; gfx803
v_addc_u32 v3, vcc, 0, v3, vcc          ; gfx803
v_add_co_u32 v2, vcc, s4, v1            ; gfx900
v_addc_co_u32 v3, vcc, 0, v3, vcc       ; gfx900
flat_store_dword v[2:3], v0             ; ! oob/out-of-bounds
s_endpgm
== store-inside gfx803 gfx900
grid 64 group 64 lds 0 buf 260
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
v_add_u32 v1, vcc, 4, v1                ; gfx803
v_add_u32 v1, 4, v1                     ; gfx900
v_mov_b32 v3, s5
v_add_u32 v2, vcc, s4, v1               ; gfx803
v_addc_u32 v3, vcc, 0, v3, vcc          ; gfx803
v_add_co_u32 v2, vcc, s4, v1            ; gfx900
v_addc_co_u32 v3, vcc, 0, v3, vcc       ; gfx900
flat_store_dword v[2:3], v0
s_endpgm
== load-one-byte-past-end gfx900
grid 64 group 64 lds 0 buf 255
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[4:5]        ; ! oob/out-of-bounds
s_endpgm
== store-to-arguments gfx900
grid 64 group 64 lds 0 buf 256
v_mov_b32 v1, 0
global_store_dword v1, v0, s[0:1]       ; ! oob/read-only
s_endpgm
== load-of-arguments gfx900
grid 64 group 64 lds 0 buf 256
v_mov_b32 v1, 0
global_load_dword v2, v1, s[0:1]
s_endpgm
== lds-past-end gfx900
grid 64 group 64 lds 256 buf 256
v_lshlrev_b32 v1, 2, v0
ds_write_b32 v1, v0 offset:4            ; ! oob/lds
s_endpgm
== lds-inside gfx900
grid 64 group 64 lds 260 buf 256
v_lshlrev_b32 v1, 2, v0
ds_write_b32 v1, v0 offset:4
s_endpgm
== undefined-stored gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
v_add_f32 v3, v2, v2
s_waitcnt lgkmcnt(0)
global_store_dword v1, v3, s[4:5]       ; ! uninit/undefined
s_endpgm
== undefined-bits-masked gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
v_lshlrev_b32 v3, 8, v2
v_and_b32 v3, 0xff, v3
s_waitcnt lgkmcnt(0)
global_store_dword v1, v3, s[4:5]
s_endpgm
== undefined-on-one-path gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_cmp_eq_u32 s2, 1
s_cbranch_scc0 skip
v_mov_b32 v2, 0
skip:
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[4:5]       ; ! uninit/undefined
s_endpgm
== undefined-address gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_waitcnt lgkmcnt(0)
v_and_b32 v1, 3, v1
v_lshlrev_b32 v1, 2, v1
global_load_dword v2, v1, s[4:5]        ; ! uninit/undefined
s_endpgm
== undefined-lds-branch gfx900
grid 64 group 64 lds 256 buf 256
v_lshlrev_b32 v1, 2, v0
ds_read_b32 v2, v1
s_waitcnt lgkmcnt(0)
v_cmp_eq_u32 vcc, 0, v2
s_cbranch_vccz skip                     ; ! uninit/undefined
s_nop 0
skip:
s_endpgm
== defined-lds-branch gfx900
grid 64 group 64 lds 256 buf 256
v_lshlrev_b32 v1, 2, v0
ds_write_b32 v1, v0
ds_read_b32 v2, v1
s_waitcnt lgkmcnt(0)
v_cmp_eq_u32 vcc, 0, v2
s_cbranch_vccz skip
s_nop 0
skip:
s_endpgm
== undefined-exec gfx900
grid 64 group 64 lds 0 buf 256
s_mov_b64 s[8:9], exec
s_and_b64 exec, exec, s[6:7]            ; ! uninit/undefined
s_mov_b64 exec, s[8:9]
s_endpgm
== beyond-allocation gfx900
grid 64 group 64 lds 0 buf 256
v_mov_b32 v40, 0                        ; ! uninit/beyond-allocation
s_endpgm
== load-not-waited-for gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[4:5]
v_add_u32 v3, v2, v2                    ; ! waitcnt/early-use
s_endpgm
== load-waited-for-on-the-path-taken gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[4:5]
s_cmp_eq_u32 s2, 1
s_cbranch_scc1 skip
s_waitcnt vmcnt(0)
skip:
v_add_u32 v3, v2, v2
s_endpgm
== wait-states-missing gfx900
grid 64 group 64 lds 0 buf 256
v_mov_b32 v1, 0
v_readfirstlane_b32 s4, v1
v_readlane_b32 s5, v0, s4               ; ! hazard/valu-lane-select
s_endpgm
== wait-states gfx900
grid 64 group 64 lds 0 buf 256
v_mov_b32 v1, 0
v_readfirstlane_b32 s4, v1
s_nop 3
v_readlane_b32 s5, v0, s4
s_endpgm
== lds-race gfx900
grid 128 group 128 lds 512 buf 256
v_lshlrev_b32 v1, 2, v0
v_xor_b32 v2, 0x100, v1
ds_write_b32 v1, v0                     ; ! race/lds
s_waitcnt lgkmcnt(0)
ds_write_b32 v2, v0
s_waitcnt lgkmcnt(0)
s_endpgm
== lds-ordered-by-barrier gfx900
grid 128 group 128 lds 512 buf 256
v_lshlrev_b32 v1, 2, v0
v_xor_b32 v2, 0x100, v1
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
s_barrier
ds_write_b32 v2, v0
s_waitcnt lgkmcnt(0)
s_endpgm
== lds-bytes-of-a-word gfx900
grid 128 group 128 lds 512 buf 256
ds_write_b8 v0, v0
s_waitcnt lgkmcnt(0)
s_endpgm
== memory-race-of-workgroups gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
v_add_u32 v2, s2, v0
v_add_u32 v2, 1, v2
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[4:5]       ; ! race/memory
s_endpgm
== memory-atomics-of-workgroups gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_atomic_add v1, v0, s[4:5]
s_endpgm
== same-value-of-workgroups gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v0, s[4:5]
s_endpgm
== load-beside-a-store-of-what-is-there gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
global_store_dword v1, v1, s[4:5]
s_endpgm
second:
global_load_dword v3, v1, s[4:5]
s_endpgm
== store-beside-a-store-of-what-is-there gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v2, 7
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
global_store_dword v1, v1, s[4:5]
s_endpgm
second:
global_store_dword v1, v2, s[4:5]       ; ! race/memory
s_endpgm
== load-beside-a-store-that-is-repeated gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v2, 7
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
global_store_dword v1, v2, s[4:5]
global_store_dword v1, v2, s[4:5]
s_endpgm
second:
global_load_dword v3, v1, s[4:5]        ; ! race/memory
s_endpgm
== ordered-by-atomic gfx900
grid 128 group 64 lds 0 buf 512
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v3, 1
s_mov_b64 s[8:9], exec
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
v_mov_b32 v4, 7
global_store_dword v1, v4, s[4:5] offset:256
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] glc
s_endpgm
second:
global_atomic_add v5, v1, v3, s[4:5] glc
s_waitcnt vmcnt(0)
buffer_wbinvl1_vol
global_load_dword v6, v1, s[4:5] offset:256
s_endpgm
== atomic-before-the-store-is-done gfx900
grid 128 group 64 lds 0 buf 512
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v3, 1
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
v_mov_b32 v4, 7
global_store_dword v1, v4, s[4:5] offset:256
global_atomic_add v5, v1, v3, s[4:5] glc
s_endpgm
second:
global_atomic_add v5, v1, v3, s[4:5] glc
s_waitcnt vmcnt(0)
buffer_wbinvl1_vol
global_load_dword v6, v1, s[4:5] offset:256 ; ! race/memory
s_endpgm
== atomic-before-a-store-of-its-workgroup-is-done gfx900
grid 128 group 128 lds 0 buf 512
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v3, 1
v_readfirstlane_b32 s6, v0
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s6, 0
s_cbranch_scc0 second
v_mov_b32 v4, 7
global_store_dword v1, v4, s[4:5] offset:256
global_atomic_add v5, v1, v3, s[4:5] glc
s_endpgm
second:
global_atomic_add v5, v1, v3, s[4:5] glc
s_waitcnt vmcnt(0)
global_load_dword v6, v1, s[4:5] offset:256
s_endpgm
== line-loaded-before-it-is-stored gfx900
grid 128 group 64 lds 0 buf 512
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v3, 1
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
first:
global_atomic_add v5, v1, v1, s[4:5] glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 first
v_mov_b32 v4, 7
global_store_dword v1, v4, s[4:5] offset:256
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] offset:4 glc
s_endpgm
second:
global_load_dword v6, v1, s[4:5] offset:260
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] glc
poll:
global_atomic_add v5, v1, v1, s[4:5] offset:4 glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 poll
global_load_dword v6, v1, s[4:5] offset:256 ; ! coherence/vector-load
s_endpgm
== line-loaded-and-invalidated gfx900
grid 128 group 64 lds 0 buf 512
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v3, 1
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
first:
global_atomic_add v5, v1, v1, s[4:5] glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 first
v_mov_b32 v4, 7
global_store_dword v1, v4, s[4:5] offset:256
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] offset:4 glc
s_endpgm
second:
global_load_dword v6, v1, s[4:5] offset:260
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] glc
poll:
global_atomic_add v5, v1, v1, s[4:5] offset:4 glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 poll
buffer_wbinvl1_vol
global_load_dword v6, v1, s[4:5] offset:256
s_endpgm
== line-that-was-not-loaded gfx900
grid 128 group 64 lds 0 buf 512
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v3, 1
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
first:
global_atomic_add v5, v1, v1, s[4:5] glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 first
v_mov_b32 v4, 7
global_store_dword v1, v4, s[4:5] offset:256
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] offset:4 glc
s_endpgm
second:
global_load_dword v6, v1, s[4:5] offset:320
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] glc
poll:
global_atomic_add v5, v1, v1, s[4:5] offset:4 glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 poll
global_load_dword v6, v1, s[4:5] offset:256
s_endpgm
== line-loaded-around-the-cache gfx900
grid 128 group 64 lds 0 buf 512
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v3, 1
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
first:
global_atomic_add v5, v1, v1, s[4:5] glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 first
v_mov_b32 v4, 7
global_store_dword v1, v4, s[4:5] offset:256
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] offset:4 glc
s_endpgm
second:
global_load_dword v6, v1, s[4:5] offset:260
s_waitcnt vmcnt(0)
global_atomic_add v5, v1, v3, s[4:5] glc
poll:
global_atomic_add v5, v1, v1, s[4:5] offset:4 glc
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s6, v5
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 poll
global_load_dword v6, v1, s[4:5] offset:256 glc
s_endpgm
== scalar-load-before-a-store gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v2, 7
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
s_load_dword s6, s[4:5], 0x8
s_endpgm
second:
global_store_dword v1, v2, s[4:5] offset:8 ; ! race/memory
s_endpgm
== scalar-load-of-other-bytes gfx900
grid 128 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v2, 7
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 second
s_load_dword s6, s[4:5], 0x8
s_endpgm
second:
global_store_dword v1, v2, s[4:5] offset:12
s_endpgm
== lds-compare-and-swap-that-swaps gfx900
grid 128 group 128 lds 512 buf 256
v_mov_b32 v1, 0
v_mov_b32 v2, 1
v_mov_b32 v3, 0
v_readfirstlane_b32 s6, v0
ds_write_b32 v1, v1
s_waitcnt lgkmcnt(0)
s_barrier
s_cmp_eq_u32 s6, 0
s_cbranch_scc0 second
ds_cmpst_rtn_b32 v4, v1, v3, v2
s_waitcnt lgkmcnt(0)
s_endpgm
second:
ds_read_b32 v5, v1                       ; ! race/lds
s_waitcnt lgkmcnt(0)
s_endpgm
== lds-compare-and-swap-that-does-not gfx900
grid 128 group 128 lds 512 buf 256
v_mov_b32 v1, 0
v_mov_b32 v2, 1
v_mov_b32 v3, 5
v_readfirstlane_b32 s6, v0
ds_write_b32 v1, v1
s_waitcnt lgkmcnt(0)
s_barrier
s_cmp_eq_u32 s6, 0
s_cbranch_scc0 second
ds_cmpst_rtn_b32 v4, v1, v3, v2
s_waitcnt lgkmcnt(0)
s_endpgm
second:
ds_read_b32 v5, v1
s_waitcnt lgkmcnt(0)
s_endpgm
== divergent-barrier gfx900
grid 128 group 128 lds 0 buf 256
v_cmp_gt_u32 vcc, 96, v0
s_and_saveexec_b64 s[8:9], vcc
s_barrier                               ; ! barrier/divergent
s_endpgm
== converged-barrier gfx900
grid 96 group 96 lds 0 buf 256
v_cmp_gt_u32 vcc, 96, v0
s_and_saveexec_b64 s[8:9], vcc
s_barrier
s_endpgm
== wave-misses-barrier gfx900
grid 128 group 128 lds 0 buf 256
v_readfirstlane_b32 s4, v0
s_cmp_eq_u32 s4, 0
s_cbranch_scc0 skip
s_barrier                               ; ! barrier/missing
skip:
s_endpgm
== different-barriers gfx900
grid 128 group 128 lds 0 buf 256
v_readfirstlane_b32 s4, v0
s_cmp_eq_u32 s4, 0
s_cbranch_scc0 other
s_barrier                               ; ? barrier/different
s_endpgm
other:
s_barrier
s_endpgm
== scalar-load-of-stored gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v0, s[4:5]
s_waitcnt vmcnt(0)
s_load_dword s6, s[4:5], 0x8            ; ! coherence/scalar-load
s_endpgm
== scalar-load-after-invalidation gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v0, s[4:5]
s_waitcnt vmcnt(0)
s_dcache_inv
s_load_dword s6, s[4:5], 0x8
s_endpgm
== scalar-load-of-what-was-stored-again gfx900
grid 64 group 64 lds 0 buf 256
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v2, 0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[4:5]
s_waitcnt vmcnt(0)
s_load_dword s6, s[4:5], 0x8
s_endpgm
== no-lane gfx900
grid 64 group 64 lds 0 buf 256
s_mov_b64 exec, 0
v_mov_b32 v1, 0                         ; ? exec/no-lane
s_endpgm
== some-lane gfx900
grid 64 group 64 lds 0 buf 256
s_mov_b64 exec, 1
v_mov_b32 v1, 0
s_endpgm
== inactive-lane gfx900
grid 64 group 64 lds 0 buf 256
s_mov_b64 exec, 1
v_readlane_b32 s4, v0, 2                ; ? exec/inactive-lane
s_endpgm
== active-lane gfx900
grid 64 group 64 lds 0 buf 256
s_mov_b64 exec, 4
v_readlane_b32 s4, v0, 2
s_endpgm
== mode-changed gfx900
grid 64 group 64 lds 0 buf 256
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3
s_endpgm                                ; ? mode/changed
== mode-put-back gfx900
grid 64 group 64 lds 0 buf 256
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3
s_nop 1
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0
s_endpgm
== lds-load-beside-atomic gfx900
grid 128 group 128 lds 512 buf 512
v_mov_b32 v1, 0
ds_and_b32 v1, v1                       ; ! race/lds
s_waitcnt lgkmcnt(0)
ds_read_b32 v3, v1
s_waitcnt lgkmcnt(0)
s_endpgm
== lds-store-before-own-atomic gfx900
grid 128 group 128 lds 512 buf 512
v_mov_b32 v1, 0
v_mov_b32 v2, 1
v_readfirstlane_b32 s4, v0
s_cmp_eq_u32 s4, 0
s_cbranch_scc0 others
ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
others:
ds_add_u32 v1, v2                       ; ! race/lds
s_waitcnt lgkmcnt(0)
s_endpgm
== lds-store-and-barrier-before-atomics gfx900
grid 128 group 128 lds 512 buf 512
v_mov_b32 v1, 0
v_mov_b32 v2, 1
v_readfirstlane_b32 s4, v0
s_cmp_eq_u32 s4, 0
s_cbranch_scc0 others
ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
others:
s_barrier
ds_add_u32 v1, v2
s_waitcnt lgkmcnt(0)
s_endpgm
== lds-wait-for-atomic gfx900
grid 128 group 128 lds 512 buf 512
v_mov_b32 v1, 0
v_mov_b32 v2, 1
ds_and_b32 v1, v1
s_waitcnt lgkmcnt(0)
s_barrier
ds_or_b32 v1, v2
poll:
ds_read_b32 v3, v1
s_waitcnt lgkmcnt(0)
v_readfirstlane_b32 s4, v3
s_cmp_eq_u32 s4, 0
s_cbranch_scc1 poll
s_endpgm
== lds-load-before-exchange gfx900
grid 128 group 128 lds 512 buf 512
v_mov_b32 v1, 0
ds_and_b32 v1, v1
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v3, v1
again:
s_waitcnt lgkmcnt(0)
v_add_u32 v4, 1, v3
ds_cmpst_rtn_b32 v2, v1, v3, v4
s_waitcnt lgkmcnt(0)
v_cmp_eq_u32 vcc, v2, v3
v_mov_b32 v3, v2
s_andn2_b64 exec, exec, vcc
s_cbranch_execnz again
s_endpgm
