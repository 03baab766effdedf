//! The scored corpus is a program of its own, because it links the whole product.

use anyhow::Result;

use crate::shell;

pub fn run(args: &[String]) -> Result<()> {
    shell::run(shell::product("plimsoll-score")?.args(args))
}
