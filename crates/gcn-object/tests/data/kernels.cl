// v2-gfx900.o:   clang-14 -x cl -O2 -nogpulib -mcpu=gfx900 --target=amdgcn-amd-amdhsa -mcode-object-version=2 -c kernels.cl
// mesa-gfx900.o: the same with --target=amdgcn-mesa-mesa3d; v2-gfx900.co: ld.lld-14 -shared v2-gfx900.o
__constant int tab[4]={1,2,3,4};
__kernel void foo(__global int* a, int n, float f){ a[__builtin_amdgcn_workgroup_id_x()] = tab[n&3]+n; }
__kernel __attribute__((reqd_work_group_size(64,1,1))) void bar(__global const float* restrict a, __local float* l){ l[__builtin_amdgcn_workitem_id_x()] = a[0]; __builtin_amdgcn_s_barrier(); *(__global float*)&a[2] = l[1]; }
