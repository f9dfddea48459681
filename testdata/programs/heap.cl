// Memory that work-items get while they run: lists of their own, linked and given back.
// options: -cl-std=CL2.0
ulong __ockl_dm_alloc(ulong);
void __ockl_dm_dealloc(ulong);
typedef struct node { struct node global* next; uint value; } node;
kernel void lists(global const uint* in, global uint* out) {
  uint i = get_global_id(0);
  node global* head = 0;
  for (uint k = 0; k < in[i] % 6 + 1; k++) {
    node global* n = (node global*)__ockl_dm_alloc(sizeof(node));
    if (!n) { out[i] = ~0u; return; }
    n->next = head; n->value = in[i] * (k + 3); head = n;
  }
  uint sum = 0;
  while (head) { node global* n = head; sum = sum * 3 + n->value; head = n->next; __ockl_dm_dealloc((ulong)n); }
  out[i] = sum;
}
