//! Killed before any of its commands, a step can be gone on with, or taken back.

use std::path::Path;
use std::process::Command;

use plimsoll_act::{Standing, Target};
use plimsoll_model::plan::Step;
use tempfile::tempdir;

use crate::support::*;

/// What the script on the node changes anything with.
const COMMANDS: [&str; 6] = ["chmod", "cp", "mkdir", "mv", "rm", "sync"];
const MOST: usize = 200;

/// Stands before the real command, and kills the shell that calls it when its time has come.
fn stand_ins(folder: &Path, count: &Path) {
    for name in COMMANDS {
        // A kill, unlike a power cut, loses nothing that was not synced.
        let real =
            if name == "sync" { "exit 0".into() } else { format!("exec /bin/{name} \"$@\"") };
        let text = format!(
            "#!/bin/sh\nread -r n < {0}\necho $((n - 1)) > {0}\n[ \"$n\" != 0 ] || {{ kill -KILL $PPID; exit 9; }}\n{real}\n",
            count.display()
        );
        let file = folder.join(name);
        fs_err::write(&file, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs_err::set_permissions(&file, mode).unwrap();
    }
}

/// In a process of its own, whose commands are the stand-ins.
#[test]
fn a_step_that_was_killed_anywhere_goes_on_or_back() {
    let folder = tempdir().unwrap();
    stand_ins(folder.path(), &folder.path().join("count"));
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "killed::inner", "--nocapture"])
        .current_dir(folder.path())
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by the test above, with other commands"]
fn inner() {
    for step in [write(NEW), retire()] {
        let kills = (0..MOST).take_while(|kill| !done(&step, *kill)).count();
        println!("{kills} kills while it was done");
        assert!((10..MOST).contains(&kills));
        let kills = (0..MOST).take_while(|kill| !undone(&step, *kill)).count();
        println!("{kills} kills while it was taken back");
        assert!((3..MOST).contains(&kills));
    }
    let kills = (0..MOST).take_while(|kill| !given_back(*kill)).count();
    println!("{kills} kills while what was lent was given back");
    assert!((5..MOST).contains(&kills));
}

fn kill_at(count: &str) {
    fs_err::write("count", format!("{count}\n")).unwrap();
}

const NEVER: &str = "-1";

/// Whether nobody was killed, who would have been at this command.
fn done(step: &Step, kill: usize) -> bool {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    kill_at(&kill.to_string());
    let whole = target.keep(step).is_ok() && target.act(step).is_ok();
    kill_at(NEVER);
    match standing(&target, step) {
        Standing::Ahead => {
            assert_eq!(tree(root.path()), before, "kill {kill}: nobody would take it back");
            target.keep(step).unwrap();
            target.act(step).unwrap();
        }
        Standing::Done => {}
        Standing::Elsewhere(why) => panic!("kill {kill}: {why}"),
    }
    assert_eq!(standing(&target, step), Standing::Done, "kill {kill}");
    target.undo(step, None).unwrap();
    assert_eq!(tree(root.path()), before, "kill {kill}");
    whole
}

/// The same of taking it back.
fn undone(step: &Step, kill: usize) -> bool {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    kill_at(NEVER);
    does(&target, step);
    kill_at(&kill.to_string());
    let whole = target.undo(step, None).is_ok();
    kill_at(NEVER);
    // Half put back is neither here nor there, and is gone on with.
    if standing(&target, step) != Standing::Ahead {
        target.undo(step, None).unwrap();
    }
    assert_eq!(tree(root.path()), before, "kill {kill}");
    assert_eq!(standing(&target, step), Standing::Ahead, "kill {kill}");
    whole
}

/// The same of a credential that was lent, with the copy that a kubelet made of it.
fn given_back(kill: usize) -> bool {
    let root = tempdir().unwrap();
    lay_out(root.path());
    lend(root.path());
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    kill_at(NEVER);
    does(&target, &borrow());
    kubelet_stores(root.path(), LENT);
    kill_at(&kill.to_string());
    let whole = target.undo(&borrow(), None).is_ok();
    kill_at(NEVER);
    // Whoever looks sees that it was lent for as long as anything of it is left.
    if standing(&target, &borrow()) != Standing::Ahead {
        target.undo(&borrow(), None).unwrap();
    }
    assert_eq!(tree(root.path()), before, "kill {kill}");
    whole
}
