// The same work in threads of the host.
#pragma once
#include <cstddef>

int host_threads();
// An empty parallel region.
void host_launch();
void host_copy(void *to, const void *from, size_t bytes);
void host_saxpy(float *y, const float *x, float a, size_t n);
// Philox 4x32-10, as floats from 0 to 1.
void host_random(float *out, size_t n);
void host_sort(unsigned *p, size_t n);
