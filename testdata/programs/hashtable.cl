// Counts words in a table with open addressing; places are taken by compare and swap.
kernel void count_words(global const uint* words, volatile global uint* keys, volatile global uint* counts, uint mask, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
    uint word = words[i], at = (word * 2654435761u >> 7) & mask;
    for (;;) {
      uint old = atomic_cmpxchg(&keys[at], 0u, word);
      if (old == 0 || old == word) break;
      at = (at + 1) & mask;
    }
    atomic_add(&counts[at], 1u);
  }
}
