// Tiles of 32 by 32 through local memory, by 32 by 8 work-items.
kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void transpose(global const uint* in, global uint* out, uint w, uint h) {
  local uint t[32][33];
  uint lx = get_local_id(0), ly = get_local_id(1), bx = get_group_id(0) * 32, by = get_group_id(1) * 32;
  for (uint j = 0; j < 32; j += 8) t[ly + j][lx] = in[(by + ly + j) * w + bx + lx];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint j = 0; j < 32; j += 8) out[(bx + ly + j) * h + by + lx] = t[lx][ly + j];
}
