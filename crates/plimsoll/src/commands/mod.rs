pub mod diagnose;
