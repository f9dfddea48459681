//! Code that tests in each lane whether the lane has work, as compiled kernels do: comparisons of affine numbers
//! with limits near them, and code for the lanes where they hold and where they do not.

use super::Piece;
use super::generate::Maker;
use super::rng::Rng;

/// Returns a comparison of a multiple of the lane's number (v22) plus a constant with a limit, in registers that nothing else uses.
fn question(r: &mut Rng, mask: &str) -> String {
    let base = r.pick(&[
        0,
        1,
        -1,
        -64,
        -200,
        i32::MAX,
        i32::MAX - 63,
        i32::MIN,
        i32::MIN + 100,
        1000,
    ]);
    let shift = r.pick(&[0, 0, 0, 2, 5]);
    let last = r.pick(&[0, 1, 15, 16, 63, 64, 127, 255, 256, 1000]) << shift;
    let off = r.pick(&[0, 0, 1, -1, 100_000]);
    let limit = base.wrapping_add(last).wrapping_add(off);
    let op = r.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
    let ty = r.pick(&["u32", "i32"]);
    let value = match r.below(4) {
        0 => format!("v_mov_b32 v23, {base:#x}\n"),
        _ => format!(
            "v_lshlrev_b32 v23, {shift}, v22\ns_mov_b32 s67, {base:#x}\nv_add_u32 v23, vcc, s67, v23\n"
        ),
    };
    format!("{value}s_mov_b32 s66, {limit:#x}\nv_cmp_{op}_{ty} {mask}, s66, v23\n")
}

/// Returns several such comparisons, nested as deeply as the registers allow. `text` adapts lines to the target.
pub fn guarded(
    maker: &mut Maker,
    r: &mut Rng,
    depth: u32,
    text: &dyn Fn(&str) -> String,
) -> Vec<Piece> {
    let saved = 68 + 2 * depth;
    let mut lines = question(r, "vcc");
    for _ in 0..r.below(3) {
        lines += "s_mov_b64 s[64:65], vcc\n";
        lines += &question(r, "vcc");
        lines += r.pick(&[
            "s_and_b64 vcc, vcc, s[64:65]\n",
            "s_or_b64 vcc, vcc, s[64:65]\n",
            "s_xor_b64 vcc, vcc, s[64:65]\n",
            "s_andn2_b64 vcc, vcc, s[64:65]\n",
        ]);
    }
    lines += &format!("s_and_saveexec_b64 s[{saved}:{}], vcc\n", saved + 1);
    let with_else = r.once_in(3);
    if with_else {
        lines += &format!(
            "s_xor_b64 s[{saved}:{0}], exec, s[{saved}:{0}]\n",
            saved + 1
        );
    }
    let branch = !r.once_in(4);
    let mut out = maker.lines(&text(&lines), 0);
    let part = |maker: &mut Maker, r: &mut Rng| match depth < 1 && r.once_in(3) {
        true => guarded(maker, r, depth + 1, text),
        false => maker.any(r),
    };
    let add = |out: &mut Vec<Piece>, mut inner: Vec<Piece>, end: Vec<Piece>, maker: &mut Maker| {
        let skip = if branch { 1 } else { 0 };
        let at = out.len() + skip;
        for p in &mut inner {
            p.to = p.to.map(|to| to + at);
        }
        if branch {
            out.extend(maker.lines("s_cbranch_execz @", at + inner.len()));
        }
        out.extend(inner);
        out.extend(end);
    };
    let inner = part(maker, r);
    if with_else {
        let other = format!(
            "s_or_saveexec_b64 s[64:65], s[{saved}:{0}]\ns_xor_b64 exec, exec, s[64:65]",
            saved + 1
        );
        let back = format!("s_or_b64 exec, exec, s[{saved}:{0}]", saved + 1);
        // The mask of the other lanes is in another pair, because the code in between may use the first.
        let keep = format!("{other}\ns_mov_b64 s[{saved}:{0}], s[64:65]", saved + 1);
        let end = maker.lines(&keep, 0);
        add(&mut out, inner, end, maker);
        let inner = part(maker, r);
        let end = maker.lines(&back, 0);
        add(&mut out, inner, end, maker);
    } else {
        let back = format!("s_or_b64 exec, exec, s[{saved}:{}]", saved + 1);
        let end = maker.lines(&back, 0);
        add(&mut out, inner, end, maker);
    }
    out
}
