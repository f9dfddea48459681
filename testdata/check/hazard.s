== setreg-getreg gfx600 gfx701 gfx803 gfx900
s_setreg_b32 hwreg(HW_REG_MODE), s0
s_nop 0
s_getreg_b32 s1, hwreg(HW_REG_MODE)     ; ! setreg-getreg
s_endpgm
== setreg-getreg-apart gfx600 gfx701 gfx803 gfx900
s_setreg_b32 hwreg(HW_REG_MODE), s0
s_nop 1
s_getreg_b32 s1, hwreg(HW_REG_MODE)
s_setreg_b32 hwreg(HW_REG_MODE), s0
s_getreg_b32 s1, hwreg(HW_REG_STATUS)
s_endpgm
== setreg-setreg gfx803 gfx906
s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0
s_nop 0
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 3     ; ! setreg-setreg
s_endpgm
== setreg-setreg-old gfx600 gfx701
s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0
s_nop 0
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 3
s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0          ; ! setreg-setreg
s_endpgm
== vskip-getreg gfx600 gfx701 gfx803 gfx900
s_setvskip s0, 0
s_nop 0
s_getreg_b32 s1, hwreg(HW_REG_MODE)     ; ! vskip-getreg
s_endpgm
== vskip-getreg-apart gfx600 gfx900
s_setvskip s0, 0
s_nop 1
s_getreg_b32 s1, hwreg(HW_REG_MODE)
s_endpgm
== vskip-vector gfx600 gfx701 gfx803 gfx900
s_setreg_b32 hwreg(HW_REG_MODE, 28, 1), s0
s_nop 0
v_mov_b32 v0, 0                         ; ! vskip-vector
s_endpgm
== vskip-vector-other-bits gfx900
s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s0
v_mov_b32 v0, 0
s_setreg_b32 hwreg(HW_REG_MODE, 20, 12), s0     ; ! setreg-setreg
s_mov_b32 s1, 0
s_mov_b32 s2, 0
v_mov_b32 v0, 0
s_endpgm
== valu-mask-data gfx600 gfx701 gfx803 gfx900
v_cmp_eq_u32 vcc, v0, v1
s_nop 3
v_mov_b32 v2, src_vccz                  ; ! valu-mask-data
s_endpgm
== valu-mask-data-apart gfx600 gfx900
v_cmp_eq_u32 vcc, v0, v1
s_nop 4
v_mov_b32 v2, src_vccz
v_cmp_eq_u32 vcc, v0, v1
v_mov_b32 v2, src_execz
s_endpgm
== valu-lane-select gfx600 gfx701 gfx803 gfx900
v_readfirstlane_b32 s4, v0
s_nop 2
v_readlane_b32 s5, v1, s4               ; ! valu-lane-select
s_endpgm
== valu-lane-select-apart gfx600 gfx701 gfx803 gfx900
v_readfirstlane_b32 s4, v0
s_nop 3
v_readlane_b32 s5, v1, s4
v_readfirstlane_b32 s4, v0
s_mov_b32 s4, 3
v_readlane_b32 s5, v1, s4
v_readlane_b32 s6, v1, 7
s_endpgm
== valu-lane-select-write gfx600 gfx900
v_cmp_eq_u32 vcc, v0, v1
v_writelane_b32 v2, 1, vcc_lo           ; ! valu-lane-select
s_endpgm
== valu-div-fmas gfx600 gfx701 gfx803 gfx900
v_div_scale_f32 v3, vcc, v0, v1, v2
s_nop 2
v_div_fmas_f32 v4, v0, v1, v3           ; ! valu-div-fmas
s_endpgm
== valu-div-fmas-apart gfx600 gfx701 gfx803 gfx900
v_div_scale_f32 v3, vcc, v0, v1, v2
v_mov_b32 v5, 0
v_mov_b32 v6, 0
v_mov_b32 v7, 0
v_mov_b32 v8, 0
v_div_fmas_f32 v4, v0, v1, v3
v_div_scale_f32 v3, s[2:3], v0, v1, v2
v_div_fmas_f32 v4, v0, v1, v3
s_endpgm
== valu-div-fmas-over-a-branch gfx900
s_cbranch_scc1 over
s_nop 7
s_branch join
over:
v_cmp_eq_u32 vcc, v0, v1
join:
s_nop 2
v_div_fmas_f32 v4, v0, v1, v3           ; ! valu-div-fmas
s_endpgm
== wide-store gfx701 gfx803 gfx900
buffer_store_dwordx4 v[0:3], off, s[0:3], 0
v_mov_b32 v2, 0                         ; ! wide-store
s_endpgm
== wide-store-apart gfx701 gfx803 gfx900
buffer_store_dwordx4 v[0:3], off, s[0:3], 0
v_mov_b32 v4, 0
v_mov_b32 v2, 0
buffer_store_dwordx4 v[0:3], off, s[0:3], s4
v_mov_b32 v2, 0
buffer_store_dwordx2 v[0:1], off, s[0:3], 0
v_mov_b32 v0, 0
s_endpgm
== wide-store-global gfx900
global_store_dwordx3 v[4:5], v[0:2], off
v_mov_b32 v2, 0                         ; ! wide-store
s_endpgm
== valu-sgpr-vmem gfx803 gfx900 gfx906
v_readfirstlane_b32 s4, v0
s_nop 3
buffer_load_dword v1, off, s[4:7], 0    ; ! valu-sgpr-vmem
s_endpgm
== valu-sgpr-vmem-apart gfx803 gfx900 gfx906
v_readfirstlane_b32 s4, v0
s_nop 4
buffer_load_dword v1, off, s[4:7], 0
v_readfirstlane_b32 s8, v0
buffer_load_dword v2, off, s[4:7], 0
v_readfirstlane_b32 s4, v0
s_mov_b32 s4, 0
buffer_load_dword v3, off, s[4:7], 0
s_endpgm
== valu-sgpr-vmem-old gfx600 gfx701
v_readfirstlane_b32 s4, v0
buffer_load_dword v1, off, s[4:7], 0    ; ? valu-sgpr-vmem
s_endpgm
== valu-sgpr-smem gfx600
v_readfirstlane_b32 s4, v0
s_nop 2
s_load_dword s6, s[4:5], 0              ; ! valu-sgpr-smem
s_endpgm
== valu-sgpr-smem-apart gfx600
v_readfirstlane_b32 s4, v0
s_nop 3
s_load_dword s6, s[4:5], 0
s_endpgm
== valu-sgpr-smem-new gfx701 gfx803 gfx900
v_readfirstlane_b32 s4, v0
s_load_dword s6, s[4:5], 0
s_endpgm
== salu-smem-resource gfx600
s_mov_b32 s7, 0
s_nop 2
s_buffer_load_dword s8, s[4:7], 0       ; ! salu-smem-resource
s_endpgm
== salu-smem-resource-apart gfx600
s_mov_b32 s7, 0
s_nop 3
s_buffer_load_dword s8, s[4:7], 0
s_mov_b32 s4, 0
s_load_dword s9, s[4:5], 0
s_endpgm
== salu-m0-message gfx803 gfx900
s_mov_b32 m0, s0
s_sendmsg sendmsg(MSG_INTERRUPT)        ; ! salu-m0-message
s_endpgm
== salu-m0-message-apart gfx803 gfx900
s_mov_b32 m0, s0
s_nop 0
s_sendmsg sendmsg(MSG_INTERRUPT)
s_endpgm
== salu-m0-gds gfx803 gfx900
s_mov_b32 m0, s0
ds_add_u32 v0, v1 gds                   ; ! salu-m0-message
s_endpgm
== salu-m0-lds gfx900
s_mov_b32 m0, s0
ds_read_addtid_b32 v0                   ; ! salu-m0-lds
s_endpgm
== salu-m0-lds-dma gfx900
s_mov_b32 m0, s0
buffer_load_dword v1, v0, s[0:3], 0 offen lds ; ! salu-m0-lds
s_endpgm
== salu-m0-lds-apart gfx900
s_mov_b32 m0, s0
ds_read_b32 v0, v1
ds_read_addtid_b32 v2
s_endpgm
== salu-m0-movrel gfx900
s_mov_b32 m0, s0
s_movrels_b32 s2, s4                    ; ! salu-m0-movrel
s_endpgm
== salu-m0-movrel-apart gfx900
s_mov_b32 m0, s0
s_nop 0
s_movrels_b32 s2, s4
s_endpgm
== salu-m0-movrel-old gfx600 gfx803
s_mov_b32 m0, s0
s_movrels_b32 s2, s4
s_endpgm
== valu-vgpr-dpp gfx803 gfx900
v_mov_b32 v1, v0
s_nop 0
v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf     ; ! valu-vgpr-dpp
s_endpgm
== valu-vgpr-dpp-apart gfx803 gfx900
v_mov_b32 v1, v0
s_nop 1
v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf
v_mov_b32 v1, v0
v_mov_b32 v3, v1
s_endpgm
== valu-exec-dpp gfx803 gfx900
v_cmpx_eq_u32 vcc, v0, v1
s_nop 3
v_mov_b32_dpp v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf     ; ! valu-exec-dpp
s_endpgm
== valu-exec-dpp-apart gfx803 gfx900
v_cmpx_eq_u32 vcc, v0, v1
s_nop 4
v_mov_b32_dpp v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf
s_mov_b64 exec, s[2:3]
v_mov_b32_dpp v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf
s_endpgm
== interp-readlane gfx600
v_interp_p1_f32 v2, v0, attr0.x
v_readfirstlane_b32 s0, v2              ; ! interp-readlane
s_endpgm
== interp-readlane-apart gfx600
v_interp_p1_f32 v2, v0, attr0.x
s_nop 0
v_readfirstlane_b32 s0, v2
s_endpgm
== setreg-rfe gfx803 gfx900
s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0
s_rfe_b64 s[2:3]                        ; ! setreg-rfe
== setreg-rfe-apart gfx803 gfx900
s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0
s_nop 0
s_rfe_b64 s[2:3]
== vcc-alias gfx701
v_cmp_eq_u32 vcc, v0, v1
v_mov_b32 v2, s62                       ; ! vcc-alias
s_endpgm
== vcc-alias-apart gfx701
v_cmp_eq_u32 vcc, v0, v1
s_nop 0
v_mov_b32 v2, s62
v_cmp_eq_u32 vcc, v0, v1
v_mov_b32 v2, s60
v_cndmask_b32 v3, v0, v1, vcc
s_endpgm
== vccz-smem gfx600 gfx701
s_load_dword s8, s[4:5], 0
s_waitcnt lgkmcnt(0)
s_cbranch_vccz out                      ; ! vccz-smem
s_nop 0
out:
s_endpgm
== vccz-smem-restored gfx600 gfx701
s_load_dword s8, s[4:5], 0
s_waitcnt lgkmcnt(0)
s_mov_b64 vcc, vcc
s_cbranch_vccz out
s_nop 0
out:
s_endpgm
== vccz-smem-outstanding gfx600 gfx701
s_load_dword s8, s[4:5], 0
s_mov_b64 vcc, s[2:3]
s_cbranch_vccnz out                     ; ! vccz-smem
s_nop 0
out:
s_endpgm
== vccz-smem-new gfx803 gfx900
s_load_dword s8, s[4:5], 0
s_cbranch_vccz out
s_nop 0
out:
s_endpgm
== vccz-half gfx600 gfx701 gfx803 gfx900
s_mov_b32 vcc_lo, 0
s_cbranch_vccz out                      ; ! vccz-half
s_nop 0
out:
s_endpgm
== vccz-half-restored gfx600 gfx900
s_mov_b32 vcc_lo, 0
s_mov_b32 vcc_hi, 0
s_mov_b64 vcc, vcc
s_cbranch_vccz out
s_nop 0
out:
s_endpgm
== smem-clause gfx801:xnack+ gfx900:xnack+
s_load_dwordx2 s[6:7], s[4:5], 0
s_load_dwordx2 s[4:5], s[8:9], 0        ; ! smem-clause
s_endpgm
== smem-clause-broken gfx900:xnack+
s_load_dwordx2 s[6:7], s[4:5], 0
s_nop 0
s_load_dwordx2 s[4:5], s[8:9], 0
s_load_dwordx2 s[10:11], s[8:9], 8
s_endpgm
== smem-clause-without-xnack gfx900:xnack-
s_load_dwordx2 s[6:7], s[4:5], 0
s_load_dwordx2 s[4:5], s[8:9], 0
s_endpgm
== vmem-clause gfx801:xnack+ gfx900:xnack+
flat_load_dword v2, v[0:1]
flat_load_dword v0, v[4:5]              ; ! vmem-clause
s_endpgm
== vmem-clause-store gfx900:xnack+
global_load_dword v2, v[0:1], off
global_store_dword v[4:5], v6, off      ; ? vmem-clause
s_endpgm
