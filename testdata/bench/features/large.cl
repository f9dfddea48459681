// A thousand instructions without a branch: derivatives of six fields in three directions, in f64, and sums of products of them. Many values are
// needed at the same time. The terms of the sums were chosen at random.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void wave_f64(__global const double *u0, __global const double *u1, __global const double *u2, __global const double *u3, __global const double *u4, __global const double *u5, __global double *r0, __global double *r1, __global double *r2, __global double *r3, __global double *r4, __global double *r5, double h, int nx, int ny, int nz) {
int x=get_global_id(0)+2, y=get_global_id(1)+2, z=get_global_id(2)+2; int at=x+nx*(y+ny*z); int sy=nx, sz=nx*ny; double i=1.0/h;
double dx0=(u0[at-2*1]-u0[at+2*1]+8.0*(u0[at+1]-u0[at-1]))*(i/12.0);
double ex0=(16.0*(u0[at-1]+u0[at+1])-u0[at-2*1]-u0[at+2*1]-30.0*u0[at])*(i*i/12.0);
double dy0=(u0[at-2*sy]-u0[at+2*sy]+8.0*(u0[at+sy]-u0[at-sy]))*(i/12.0);
double ey0=(16.0*(u0[at-sy]+u0[at+sy])-u0[at-2*sy]-u0[at+2*sy]-30.0*u0[at])*(i*i/12.0);
double dz0=(u0[at-2*sz]-u0[at+2*sz]+8.0*(u0[at+sz]-u0[at-sz]))*(i/12.0);
double ez0=(16.0*(u0[at-sz]+u0[at+sz])-u0[at-2*sz]-u0[at+2*sz]-30.0*u0[at])*(i*i/12.0);
double dx1=(u1[at-2*1]-u1[at+2*1]+8.0*(u1[at+1]-u1[at-1]))*(i/12.0);
double ex1=(16.0*(u1[at-1]+u1[at+1])-u1[at-2*1]-u1[at+2*1]-30.0*u1[at])*(i*i/12.0);
double dy1=(u1[at-2*sy]-u1[at+2*sy]+8.0*(u1[at+sy]-u1[at-sy]))*(i/12.0);
double ey1=(16.0*(u1[at-sy]+u1[at+sy])-u1[at-2*sy]-u1[at+2*sy]-30.0*u1[at])*(i*i/12.0);
double dz1=(u1[at-2*sz]-u1[at+2*sz]+8.0*(u1[at+sz]-u1[at-sz]))*(i/12.0);
double ez1=(16.0*(u1[at-sz]+u1[at+sz])-u1[at-2*sz]-u1[at+2*sz]-30.0*u1[at])*(i*i/12.0);
double dx2=(u2[at-2*1]-u2[at+2*1]+8.0*(u2[at+1]-u2[at-1]))*(i/12.0);
double ex2=(16.0*(u2[at-1]+u2[at+1])-u2[at-2*1]-u2[at+2*1]-30.0*u2[at])*(i*i/12.0);
double dy2=(u2[at-2*sy]-u2[at+2*sy]+8.0*(u2[at+sy]-u2[at-sy]))*(i/12.0);
double ey2=(16.0*(u2[at-sy]+u2[at+sy])-u2[at-2*sy]-u2[at+2*sy]-30.0*u2[at])*(i*i/12.0);
double dz2=(u2[at-2*sz]-u2[at+2*sz]+8.0*(u2[at+sz]-u2[at-sz]))*(i/12.0);
double ez2=(16.0*(u2[at-sz]+u2[at+sz])-u2[at-2*sz]-u2[at+2*sz]-30.0*u2[at])*(i*i/12.0);
double dx3=(u3[at-2*1]-u3[at+2*1]+8.0*(u3[at+1]-u3[at-1]))*(i/12.0);
double ex3=(16.0*(u3[at-1]+u3[at+1])-u3[at-2*1]-u3[at+2*1]-30.0*u3[at])*(i*i/12.0);
double dy3=(u3[at-2*sy]-u3[at+2*sy]+8.0*(u3[at+sy]-u3[at-sy]))*(i/12.0);
double ey3=(16.0*(u3[at-sy]+u3[at+sy])-u3[at-2*sy]-u3[at+2*sy]-30.0*u3[at])*(i*i/12.0);
double dz3=(u3[at-2*sz]-u3[at+2*sz]+8.0*(u3[at+sz]-u3[at-sz]))*(i/12.0);
double ez3=(16.0*(u3[at-sz]+u3[at+sz])-u3[at-2*sz]-u3[at+2*sz]-30.0*u3[at])*(i*i/12.0);
double dx4=(u4[at-2*1]-u4[at+2*1]+8.0*(u4[at+1]-u4[at-1]))*(i/12.0);
double ex4=(16.0*(u4[at-1]+u4[at+1])-u4[at-2*1]-u4[at+2*1]-30.0*u4[at])*(i*i/12.0);
double dy4=(u4[at-2*sy]-u4[at+2*sy]+8.0*(u4[at+sy]-u4[at-sy]))*(i/12.0);
double ey4=(16.0*(u4[at-sy]+u4[at+sy])-u4[at-2*sy]-u4[at+2*sy]-30.0*u4[at])*(i*i/12.0);
double dz4=(u4[at-2*sz]-u4[at+2*sz]+8.0*(u4[at+sz]-u4[at-sz]))*(i/12.0);
double ez4=(16.0*(u4[at-sz]+u4[at+sz])-u4[at-2*sz]-u4[at+2*sz]-30.0*u4[at])*(i*i/12.0);
double dx5=(u5[at-2*1]-u5[at+2*1]+8.0*(u5[at+1]-u5[at-1]))*(i/12.0);
double ex5=(16.0*(u5[at-1]+u5[at+1])-u5[at-2*1]-u5[at+2*1]-30.0*u5[at])*(i*i/12.0);
double dy5=(u5[at-2*sy]-u5[at+2*sy]+8.0*(u5[at+sy]-u5[at-sy]))*(i/12.0);
double ey5=(16.0*(u5[at-sy]+u5[at+sy])-u5[at-2*sy]-u5[at+2*sy]-30.0*u5[at])*(i*i/12.0);
double dz5=(u5[at-2*sz]-u5[at+2*sz]+8.0*(u5[at+sz]-u5[at-sz]))*(i/12.0);
double ez5=(16.0*(u5[at-sz]+u5[at+sz])-u5[at-2*sz]-u5[at+2*sz]-30.0*u5[at])*(i*i/12.0);
double t0=ex2*dy3*(ey1+u5[at])+dx3*dx4*(ez4+u0[at])+ex5*dx3*(ez2+u1[at])+dx2*dx5*(ey3+u3[at])+dx4*dz3*(dx5+u4[at])+ey3*dx3*(dy1+u1[at])+dx3*ey1*(dz2+u0[at])+ez5*dy2*(ex0+u3[at])+dy3*ez4*(dy1+u4[at])+ex1*ez5*(dy5+u0[at])+dz0*ex5*(dy0+u4[at])+dx4*dx3*(dz1+u3[at])+ez4*ey3*(ex2+u3[at])+ey5*ex5*(ex1+u1[at])+dy5*dz3*(dx5+u4[at])+ex1*ez3*(ez1+u2[at])+ey4*ex0*(dx4+u0[at])+ez2*ey2*(dy4+u2[at])+dy3*ez1*(ey2+u0[at])+dx4*ez5*(ex2+u2[at])+ex4*ez1*(ey5+u0[at])+dx5*dz5*(ez0+u5[at])+dx4*dx3*(ex1+u5[at])+ey4*ex0*(ey0+u5[at]);
double t1=ex4*dx1*(ey5+u2[at])+dy4*dy1*(ez1+u0[at])+dz1*ex0*(dy2+u5[at])+dz3*ey1*(ez1+u0[at])+dy4*ey4*(ey1+u4[at])+dz5*dy2*(ey3+u4[at])+dz5*ey2*(ex4+u5[at])+ey0*dz2*(dy3+u0[at])+dy5*dy3*(dz2+u5[at])+dz2*dx0*(ez1+u4[at])+dy5*dz4*(ex0+u0[at])+dy3*ey2*(ez4+u2[at])+ex2*dy2*(ez2+u4[at])+dx3*ey5*(ez5+u3[at])+ey1*dy0*(ez0+u5[at])+ey1*dx3*(dz0+u0[at])+dz1*ey4*(dy4+u0[at])+ex3*dx3*(dy0+u0[at])+dy3*ez4*(dy0+u2[at])+dx1*dx4*(dz1+u4[at])+ey0*dy3*(dz4+u2[at])+ex5*ez0*(dy1+u0[at])+ez1*ey5*(ez0+u3[at])+ex1*dx5*(dy3+u0[at]);
double t2=ex3*dz4*(ez0+u5[at])+dy4*ez3*(dx1+u1[at])+ez3*ex5*(dy3+u5[at])+ez4*dx1*(ez3+u2[at])+dx5*dz4*(ez3+u2[at])+dy4*ex4*(dz2+u4[at])+ez4*ez2*(ex3+u5[at])+dz2*dz0*(dz3+u3[at])+dz2*dz0*(ez3+u3[at])+ex4*dx1*(dz5+u3[at])+dz4*dz0*(ex4+u3[at])+ex4*ex5*(dx5+u1[at])+dy0*dz2*(ez0+u1[at])+ex3*dz1*(ez0+u4[at])+dx0*ez0*(ex4+u5[at])+dx5*dy1*(ey0+u5[at])+dz0*ez0*(dy5+u3[at])+ex3*dx5*(ey1+u3[at])+ey1*dx5*(dy4+u1[at])+dy2*dx1*(dy3+u4[at])+ey5*dy3*(ez0+u5[at])+ex4*dy3*(ez5+u4[at])+dy2*dx1*(dx0+u5[at])+dy0*ez3*(dy2+u3[at]);
double t3=dz0*dz1*(dx1+u2[at])+dz1*ex0*(ez2+u1[at])+ex2*dz4*(ez4+u3[at])+dy2*dx3*(ex4+u3[at])+ez3*ey2*(ez2+u1[at])+ez4*dy3*(ez3+u4[at])+dx1*ey4*(dy5+u4[at])+dx0*dy3*(dy5+u1[at])+ez0*dy1*(ez5+u0[at])+ex2*ez3*(ez5+u3[at])+dy0*ez5*(dx3+u1[at])+dz0*dz5*(dx2+u0[at])+ez2*ey4*(ez5+u0[at])+dx4*ey4*(ex2+u4[at])+ez2*dz0*(dz5+u3[at])+ez2*ez4*(ez0+u4[at])+dz3*ez3*(dz4+u4[at])+dz0*ey4*(dy2+u3[at])+dy1*ey1*(ey4+u2[at])+dx4*dz3*(ey3+u0[at])+dz1*ex1*(dy1+u1[at])+ex5*dy3*(dz4+u1[at])+ey5*dz2*(dy0+u3[at])+ez1*dy4*(dz2+u1[at]);
double t4=ey3*ez2*(ey1+u2[at])+ey2*dz0*(ex4+u2[at])+dx5*ex5*(dx1+u2[at])+ez5*ey5*(ey4+u5[at])+dx1*ey0*(ex3+u4[at])+ex0*ez2*(dx4+u0[at])+dz2*dy0*(dx5+u2[at])+dz5*dx2*(dy5+u2[at])+dy2*ey3*(dz4+u3[at])+dy3*ez4*(ez2+u4[at])+ez1*ex2*(dx5+u2[at])+dx3*dy5*(ey3+u0[at])+dz5*dx1*(dx5+u2[at])+dx5*dz2*(dx4+u2[at])+dy1*ey5*(dx0+u2[at])+ez5*ey2*(dz5+u4[at])+dy2*dx2*(ez3+u5[at])+dz3*dy1*(dy4+u2[at])+dx3*dy5*(dz0+u2[at])+ex1*ez3*(dz1+u2[at])+ey4*ez2*(dy5+u2[at])+ex4*dx1*(dz4+u0[at])+dx0*dx1*(ez2+u4[at])+dz0*ez2*(ez0+u1[at]);
double t5=ey4*dy0*(ey3+u5[at])+ez1*ez4*(ey1+u4[at])+ex1*dz1*(dz2+u2[at])+dz0*dy2*(ey1+u2[at])+dx3*dy2*(dx0+u0[at])+dz4*ey3*(dy4+u0[at])+dx5*ey0*(ez2+u5[at])+ex0*dz3*(dx2+u3[at])+dy5*dy4*(dz5+u3[at])+dx0*dz4*(ex5+u2[at])+ez5*ex2*(dz3+u0[at])+ex1*dz1*(ex4+u1[at])+dx0*ex3*(ey0+u0[at])+ez0*dz5*(ez2+u5[at])+dz0*dz3*(ez2+u0[at])+dx5*dz4*(dy3+u3[at])+dx2*ey1*(dx1+u2[at])+ex1*dz2*(dx5+u4[at])+ez3*dy3*(ey0+u2[at])+ez1*dy3*(ex0+u5[at])+dy3*dx2*(ez2+u5[at])+ey3*ez2*(dy2+u4[at])+ez2*dx1*(dz2+u0[at])+dx1*dx2*(dy2+u5[at]);
r0[at]=t0/(1.0+t1*t1);
r1[at]=t1/(1.0+t2*t2);
r2[at]=t2/(1.0+t3*t3);
r3[at]=t3/(1.0+t4*t4);
r4[at]=t4/(1.0+t5*t5);
r5[at]=t5/(1.0+t0*t0);
}
