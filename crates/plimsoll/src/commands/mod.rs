pub mod capture;
pub mod diagnose;
pub mod explain;
pub mod knowledge;
