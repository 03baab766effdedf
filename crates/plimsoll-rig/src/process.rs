//! Programs that end when the one who started them lets go.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fs_err::File;

pub struct Running(Child);

impl Running {
    /// Everything that it says goes to `log`.
    pub fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let out = File::create(log)?;
        let error = out.try_clone()?;
        let child = command
            .stdin(Stdio::null())
            .stdout(out.into_parts().0)
            .stderr(error.into_parts().0)
            .spawn()
            .with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(Self(child))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// At once, as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port of loopback that nobody uses.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Asks again and again until it is so.
pub fn wait_for(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > limit {
            bail!("{what}: not within {} s", limit.as_secs());
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}
