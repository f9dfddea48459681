// Code that the programs share. Each program compares the results of kernels with the host's, and exits with 0 if all are right.
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
