//! What is found out of blocks, and made of them, between the frontend and the target.

pub(crate) mod affine;
