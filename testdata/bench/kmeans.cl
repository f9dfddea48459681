// The nearest of some centres of each point, and how many points each has.
kernel void kmeans(global const float4* points, global const float4* centres, global uint* nearest, global uint* counts, uint k) {
  local uint own[64];
  uint l = get_local_id(0), g = get_global_id(0);
  if (l < 64) own[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 p = points[g];
  float least = INFINITY;
  uint which = 0;
  for (uint c = 0; c < k; c++) {
    float4 d = p - centres[c];
    float far = dot(d, d);
    if (far < least) { least = far; which = c; }
  }
  nearest[g] = which;
  atomic_inc(&own[which]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < k) atomic_add(&counts[l], own[l]);
}
