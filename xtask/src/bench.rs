//! What a diagnosis costs, as a multiple of what ripgrep needs for the same bytes in the same run.
//! Ratios hold across machines; seconds do not.

mod check;
mod logs;
mod measure;
mod objects;
mod random;
mod tree;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::shell;
pub use check::Check;
use measure::{Cost, best, measure};

const FOLDER_BAR: f64 = 6.0;
const ARCHIVE_BAR: f64 = 1.5;
const MEMORY_BAR: f64 = 300.0;
const INFERENCE_BAR: f64 = 200.0;
const MIB: u64 = 1 << 20;

/// Exit codes of `plimsoll diagnose` that mean an answer: healthy, roots found, not provable.
const ANSWERED: &[i32] = &[0, 1, 3];
/// ripgrep: found, not found.
const SEARCHED: &[i32] = &[0, 1];

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub what: Option<What>,
    /// Size of the synthetic must-gather: 64MiB, 1GiB.
    #[arg(long, default_value = "1GiB")]
    pub size: Size,
    /// Best of so many rounds.
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    /// Make the must-gather here instead of below target/bench.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Fail when a bar is missed.
    #[arg(long)]
    pub bars: bool,
    /// Also print the cost at 128, 256, 512 and 1024 MiB.
    #[arg(long)]
    pub curve: bool,
    /// Measure this binary instead of a release build.
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
pub enum What {
    /// A large cluster on a real API server, against `kubectl get` of the same kinds.
    Live(Live),
    /// How fast `plimsoll check` starts, and what a config of a thousand hosts costs.
    Check(Check),
}

#[derive(clap::Args)]
pub struct Live {
    #[arg(long, default_value_t = 500)]
    pub nodes: usize,
    #[arg(long, default_value_t = 20_000)]
    pub pods: usize,
    /// Best of so many rounds.
    #[arg(long, default_value_t = 2)]
    pub rounds: u32,
    /// Measure this binary instead of a release build.
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
}

/// It links the parts that the tests start, so it is a program of its own.
fn live(args: &Live) -> Result<()> {
    let plimsoll = match &args.binary {
        Some(binary) => binary.clone(),
        None => release_build()?,
    };
    let mut command = shell::product("bench-live")?;
    command.arg(plimsoll);
    command.args([args.nodes.to_string(), args.pods.to_string(), args.rounds.to_string()]);
    shell::run(&mut command)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = match (text.strip_suffix("GiB"), text.strip_suffix("MiB")) {
            (Some(number), _) => (number, 1 << 30),
            (_, Some(number)) => (number, MIB),
            _ => return Err("say it as 64MiB or 1GiB".into()),
        };
        let number: u64 = number.parse().map_err(|_| format!("'{number}' is not a number"))?;
        match number.checked_mul(unit) {
            Some(bytes) if bytes > 0 => Ok(Size(bytes)),
            _ => Err(format!("'{text}' is out of range")),
        }
    }
}

pub fn run(args: &Args) -> Result<()> {
    match &args.what {
        Some(What::Live(live_args)) => return live(live_args),
        Some(What::Check(check_args)) => return check::run(check_args),
        None => {}
    }
    let bench = Bench::new(args)?;
    let mut missed = bench.compare(args.size)?;
    // Another binary is a look at something else; the bars are about a release build.
    if args.binary.is_none() {
        missed.extend(inference()?);
    }
    if args.curve {
        bench.curve()?;
    }
    for bar in &missed {
        println!("missed: {bar}");
    }
    if args.bars && !missed.is_empty() {
        bail!("{} of the bars are missed", missed.len());
    }
    Ok(())
}

fn release_build() -> Result<PathBuf> {
    shell::run(shell::cargo().args(["build", "--release", "-q", "-p", "plimsoll"]))?;
    Ok(shell::root().join("target/release/plimsoll"))
}

struct Bench {
    home: PathBuf,
    patterns: String,
    plimsoll: String,
    rounds: u32,
}

impl Bench {
    fn new(args: &Args) -> Result<Self> {
        let root = shell::root();
        let home = args.keep.clone().unwrap_or_else(|| root.join("target/bench"));
        fs::create_dir_all(&home)?;
        let home = fs::canonicalize(home)?;
        let patterns = home.join("patterns");
        fs::write(&patterns, logs::PATTERNS.join("\n") + "\n")?;
        let plimsoll = match &args.binary {
            Some(binary) => root.join(binary),
            None => release_build()?,
        };
        Ok(Self {
            patterns: utf8(&patterns)?,
            plimsoll: utf8(&plimsoll)?,
            rounds: args.rounds.max(1),
            home,
        })
    }

    fn tree(&self, size: Size) -> Result<tree::Tree> {
        tree::make(&self.home.join(format!("{}MiB", size.0 / MIB)), size.0)
    }

    /// Prints the table and gives the bars that were missed. Rounds are interleaved, so that a
    /// neighbour on the machine slows all four jobs alike.
    fn compare(&self, size: Size) -> Result<Vec<String>> {
        let tree = self.tree(size)?;
        let (folder, archive) = (utf8(&tree.folder)?, utf8(&tree.archive)?);
        let mut costs: [Vec<Cost>; 4] = Default::default();
        for _ in 0..self.rounds {
            costs[0].push(self.search(&folder)?);
            costs[1].push(self.diagnose(&folder)?);
            costs[2].push(self.search_archive(&archive)?);
            costs[3].push(self.diagnose(&archive)?);
        }
        let [search, from_folder, search_archive, from_archive] = costs.map(|c| best(&c));
        println!("{} MiB, best of {} rounds", size.0 / MIB, self.rounds);
        println!("{:36} {:>8} {:>8} {:>8} {:>7}", "", "CPU s", "CPU x", "wall x", "MiB");
        for (name, cost, unit) in [
            ("rg -j1, 12 strings, folder", search, search),
            ("plimsoll diagnose, folder", from_folder, search),
            ("gzip -dc | rg -j1, 12 strings", search_archive, search_archive),
            ("plimsoll diagnose, .tar.gz", from_archive, search_archive),
        ] {
            println!(
                "{name:36} {:8.2} {:8.2} {:8.2} {:7.0}",
                cost.cpu,
                ratio(cost.cpu, unit.cpu),
                ratio(cost.wall, unit.wall),
                cost.mebibytes
            );
        }
        let bars = [
            ("CPU from the folder, x rg", ratio(from_folder.cpu, search.cpu), FOLDER_BAR),
            (
                "CPU from .tar.gz, x gzip | rg",
                ratio(from_archive.cpu, search_archive.cpu),
                ARCHIVE_BAR,
            ),
            ("peak MiB, folder", from_folder.mebibytes, MEMORY_BAR),
            ("peak MiB, .tar.gz", from_archive.mebibytes, MEMORY_BAR),
        ];
        Ok(bars.into_iter().filter_map(|(name, value, bar)| check(name, value, bar)).collect())
    }

    /// Cost per MiB at four sizes: a straight line has the same number in every row.
    fn curve(&self) -> Result<()> {
        println!("\n{:>8} {:>10} {:>12} {:>8}", "MiB", "CPU s", "CPU ms/MiB", "x rg");
        for mebibytes in [128, 256, 512, 1024] {
            let folder = utf8(&self.tree(Size(mebibytes * MIB))?.folder)?;
            let (mut search, mut diagnose) = (Vec::new(), Vec::new());
            for _ in 0..self.rounds {
                search.push(self.search(&folder)?);
                diagnose.push(self.diagnose(&folder)?);
            }
            let (search, diagnose) = (best(&search), best(&diagnose));
            let each = diagnose.cpu * 1000.0 / mebibytes as f64;
            let times = ratio(diagnose.cpu, search.cpu);
            println!("{mebibytes:>8} {:>10.2} {each:>12.2} {times:>8.2}", diagnose.cpu);
        }
        Ok(())
    }

    /// The tree lies below target/, which git ignores and ripgrep would skip.
    fn search(&self, folder: &str) -> Result<Cost> {
        let search = ["rg", "--no-ignore", "-j1", "-c", "-F", "-f", &self.patterns, folder];
        measure(&search, SEARCHED)
    }

    /// As text, because ripgrep stops at the first zero byte of a binary stream.
    fn search_archive(&self, archive: &str) -> Result<Cost> {
        let pipe = "gzip -dc \"$1\" | rg -a -j1 -c -F -f \"$0\"";
        measure(&["sh", "-c", pipe, &self.patterns, archive], SEARCHED)
    }

    fn diagnose(&self, source: &str) -> Result<Cost> {
        let diagnose = [&self.plimsoll, "diagnose", "--quiet", "--output", "json", source];
        measure(&diagnose, ANSWERED)
    }
}

/// Inference alone, on graphs of many kinds and sizes. The slowest one of 10,000 states counts.
fn inference() -> Result<Option<String>> {
    let args = ["run", "--release", "-q", "-p", "plimsoll-causes", "--example", "scale"];
    let table = shell::output(shell::cargo().args(args))?;
    println!("\ninference\n{table}");
    let slowest = slowest(&table, "10000").context("no row of 10,000 active states")?;
    Ok(check("ms of inference, 10,000 active states", slowest, INFERENCE_BAR))
}

/// The largest value of the third column, milliseconds, among rows that begin with `active`.
fn slowest(table: &str, active: &str) -> Option<f64> {
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|row| row.first() == Some(&active))
        .filter_map(|row| row.get(2)?.parse::<f64>().ok())
        .reduce(f64::max)
}

fn check(name: &str, value: f64, bar: f64) -> Option<String> {
    let met = value <= bar;
    println!("{} {name}: {value:.2}, bar {bar:.1}", if met { "ok  " } else { "MISS" });
    (!met).then(|| format!("{name}: {value:.2} > {bar:.1}"))
}

/// A run too short for the clock of the kernel counts as one tick.
fn ratio(value: f64, unit: f64) -> f64 {
    value / unit.max(0.01)
}

fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(ToString::to_string).context("the path of the repository is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_with_their_unit() {
        assert_eq!("64MiB".parse(), Ok(Size(64 << 20)));
        assert_eq!("1GiB".parse(), Ok(Size(1 << 30)));
        for wrong in ["1", "1GB", "xGiB", "0MiB", "99999999999999GiB"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_slowest_graph_of_a_size_counts() {
        let table = "all seen\n  active   links      ms\n    1000    2000     9.0\n   10000   20000    41.5\nfoggy\n   10000   20000    77.0\n";
        assert_eq!(slowest(table, "10000"), Some(77.0));
        assert_eq!(slowest(table, "20000"), None);
    }

    #[test]
    fn a_missed_bar_is_named() {
        assert_eq!(check("peak", 300.0, 300.0), None);
        assert!(check("peak", 301.0, 300.0).is_some_and(|text| text.contains("peak")));
    }
}
