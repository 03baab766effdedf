//! The scored corpus is a program of its own, because it links the whole product.

use anyhow::Result;

use crate::shell;

pub fn run(args: &[String]) -> Result<()> {
    let mut command = shell::cargo();
    command.args(["run", "--quiet", "--locked", "--package", "plimsoll-score", "--"]).args(args);
    shell::run(&mut command)
}
