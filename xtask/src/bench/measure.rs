//! What a child process cost, by GNU time: it counts the children of the child as well.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use fs_err as fs;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// User and system seconds.
    pub cpu: f64,
    pub wall: f64,
    /// Peak of the largest process.
    pub mebibytes: f64,
}

/// Runs `program` to the end. `accepted` are the exit codes that mean it did its work.
pub fn measure(program: &[&str], accepted: &[i32]) -> Result<Cost> {
    let report = tempfile::NamedTempFile::new()?;
    let status = Command::new("/usr/bin/time")
        .args(["--quiet", "-f", "%U %S %e %M", "-o"])
        .arg(report.path())
        .args(program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .context("cannot start /usr/bin/time (package time)")?;
    if !status.code().is_some_and(|code| accepted.contains(&code)) {
        bail!("{} failed: {status}", program.join(" "));
    }
    let text = fs::read_to_string(report.path())?;
    parse(&text).with_context(|| format!("/usr/bin/time wrote '{}'", text.trim()))
}

fn parse(text: &str) -> Option<Cost> {
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    let mut next = || numbers.next().flatten();
    let (user, system, wall, kibibytes) = (next()?, next()?, next()?, next()?);
    Some(Cost { cpu: user + system, wall, mebibytes: kibibytes / 1024.0 })
}

/// The best of each figure: what else ran on the machine can only make a run worse.
pub fn best(rounds: &[Cost]) -> Cost {
    let worst = Cost { cpu: f64::INFINITY, wall: f64::INFINITY, mebibytes: 0.0 };
    rounds.iter().fold(worst, |best, cost| Cost {
        cpu: best.cpu.min(cost.cpu),
        wall: best.wall.min(cost.wall),
        // A peak is a promise, so that the worst one counts.
        mebibytes: best.mebibytes.max(cost.mebibytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_gnu_time_is_read() {
        let cost = Cost { cpu: 1.75, wall: 2.0, mebibytes: 2.0 };
        assert_eq!(parse("1.50 0.25 2.00 2048\n"), Some(cost));
        assert_eq!(parse("Command exited with non-zero status 1\n"), None);
    }

    #[test]
    fn the_best_round_counts_but_the_worst_peak() {
        let rounds = [
            Cost { cpu: 2.0, wall: 5.0, mebibytes: 10.0 },
            Cost { cpu: 3.0, wall: 4.0, mebibytes: 12.0 },
        ];
        assert_eq!(best(&rounds), Cost { cpu: 2.0, wall: 4.0, mebibytes: 12.0 });
    }
}
