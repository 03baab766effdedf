pub mod capture;
pub mod check;
pub mod diagnose;
pub mod explain;
pub mod fix;
pub mod knowledge;
