//! House rules that neither the compiler nor clippy can check.

mod edges;
mod knowledge;
mod text;

use anyhow::{Result, bail};

use crate::shell;

/// All problems at once, so that one run is enough.
pub fn run() -> Result<()> {
    let root = shell::root();
    let mut problems = edges::problems(&edges::metadata()?);
    problems.extend(text::problems(&root)?);
    problems.extend(knowledge::problems(&root)?);
    if problems.is_empty() {
        println!("tidy");
        return Ok(());
    }
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    bail!("{} house rules are broken", problems.len())
}
