// What the programs share. Each compares what kernels made with what the host computes, and ends with 0 if all is right.
#pragma once
#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        hipError_t error_ = (call);                                                          \
        if (error_ != hipSuccess) {                                                          \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error_)); \
            std::exit(1);                                                                    \
        }                                                                                    \
    } while (0)

#define EXPECT(condition)                                                                    \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
            std::exit(1);                                                                    \
        }                                                                                    \
    } while (0)
