pub mod capture;
pub mod check;
pub mod csr;
pub mod diagnose;
pub mod explain;
pub mod fix;
pub mod knowledge;
pub mod verify;
