// HIP's printf and malloc are host calls of ROCm's library: lanes put packets on a stack and wait.
// options: -cl-std=CL2.0
ulong __ockl_printf_begin(ulong);
ulong __ockl_printf_append_args(ulong, uint, ulong, ulong, ulong, ulong, ulong, ulong, ulong, uint);
ulong __ockl_printf_append_string_n(ulong, const char*, ulong, uint);
constant char format[] = "work-item %d of %s has %.3f and %lx, a format longer than one packet takes\n";
constant char name[] = "a group";
kernel void hostcalls(global const double* in, global int* lengths) {
  int i = get_global_id(0);
  if (i % 20 != 7) return;
  char f[sizeof format], n[sizeof name];
  for (int k = 0; k < sizeof format; k++) f[k] = format[k];
  for (int k = 0; k < sizeof name; k++) n[k] = name[k];
  ulong d = __ockl_printf_begin(0);
  d = __ockl_printf_append_string_n(d, f, sizeof format, 0);
  d = __ockl_printf_append_args(d, 1, i, 0, 0, 0, 0, 0, 0, 0);
  d = __ockl_printf_append_string_n(d, n, sizeof name, 0);
  lengths[i] = __ockl_printf_append_args(d, 2, as_ulong(in[i]), (ulong)i << 36, 0, 0, 0, 0, 0, 1);
}
