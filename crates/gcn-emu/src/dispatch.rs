//! Kernels of code objects.
