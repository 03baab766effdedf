//! The built-in pack is embedded by a macro that does not watch the folder; this does.

fn main() {
    println!("cargo::rerun-if-changed=../../knowledge");
}
