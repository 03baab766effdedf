//! A case as a live cluster: a real etcd and kube-apiserver on loopback with its objects in them, until Enter.
//! `cargo run -p plimsoll --example cluster -- FILE.md[:N]`, then `KUBECONFIG=… plimsoll diagnose --now …`

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::BufRead;

use plimsoll_rig::{ApiServer, Objects, definitions};

type Anything = Box<dyn std::error::Error>;

#[expect(clippy::print_stdout, reason = "it is a tool of people")]
fn main() -> Result<(), Anything> {
    let what = std::env::args().nth(1).ok_or("give FILE.md or FILE.md:N")?;
    let (file, number) = what.rsplit_once(':').unwrap_or((&what, "1"));
    let cases = plimsoll_lab::parse_cases(&fs_err::read_to_string(file)?)?;
    let case = cases.get(number.parse::<usize>()?.wrapping_sub(1)).ok_or("no such case")?;
    let folder = tempfile::TempDir::new()?;
    let server = ApiServer::start(folder.path())?;
    server.define(&definitions()?)?;
    server.load(Objects::of_gather(&case.tree()?, &support::NEEDS)?)?;
    println!("{}", case.name);
    println!("export KUBECONFIG={}", server.admin()?.display());
    println!("its time is the one of its base: add --now 2025-12-03T18:42:00Z, and --no-probe");
    println!("Enter ends it");
    std::io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}
