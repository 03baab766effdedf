//! Which sources are live, and how they come to be read.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_live::{Live, Node, Patience, Progress, Proxies, Request, Silent, Vantage};
use plimsoll_model::{EntityId, Evidence, Needs};
use plimsoll_sources::Given;

use crate::args::{Diagnose, Reach, Talk};
use crate::bmcs;
use crate::exit::{self, Failure};
use crate::output::complain;
use crate::progress::Spinner;

/// Sources as they were typed, told apart.
pub struct Sorted {
    pub paths: Vec<PathBuf>,
    pub live: Option<Request>,
}

pub fn sorted(
    sources: &[PathBuf],
    reach: &Reach,
    now: Option<jiff::Timestamp>,
) -> Result<Sorted, Failure> {
    if let Some(wrong) = reach.endpoint.iter().find(|text| plimsoll_live::place(text).is_none()) {
        let message = format!("--endpoint {wrong}: give an address, or ADDRESS:PORT");
        return Err(Failure::Usage(message));
    }
    if let Some(wrong) = reach.ntp_server.iter().find(|host| !plimsoll_live::is_host(host)) {
        return Err(Failure::Usage(format!("--ntp-server {wrong}: give a name or an address")));
    }
    let mut paths = Vec::new();
    let mut nodes = Vec::new();
    let mut all_nodes_as = None;
    let mut bmcs = Vec::new();
    let mut bmcs_of_cluster = false;
    let mut cluster = sources.is_empty().then(|| vantage(None, reach));
    for source in sources {
        let text = source.to_str().unwrap_or_default();
        match text.split_once(':') {
            Some(("kube", _)) if cluster.is_some() => {
                let message = "sources describe one cluster: give kube:CONTEXT once";
                return Err(Failure::Usage(message.into()));
            }
            Some(("kube", context)) => cluster = Some(vantage(Some(context), reach)),
            Some(("ssh", destination)) => match user_and_host(destination)? {
                (_, "all") if all_nodes_as.is_some() => return Err(twice("every node")),
                (user, "all") => all_nodes_as = Some(user.unwrap_or("core").into()),
                (_, host) if nodes.iter().any(|node| is_at(node, host)) => {
                    return Err(twice(host));
                }
                _ => nodes.push(Node::Ssh { destination: destination.into() }),
            },
            Some(("node", root)) if Node::is_running(Path::new(root)) => {
                let node = Node::Here { root: root.into() };
                if nodes.contains(&node) {
                    return Err(twice(root));
                }
                nodes.push(node);
            }
            Some(("bmc", _)) if sources.iter().filter(|other| *other == source).count() > 1 => {
                return Err(twice(text));
            }
            Some(("bmc", "cluster")) => bmcs_of_cluster = true,
            Some(("bmc", file)) => bmcs.extend(bmcs::targets(Path::new(file))?),
            _ => paths.push(source.clone()),
        }
    }
    if (all_nodes_as.is_some() || bmcs_of_cluster) && cluster.is_none() {
        cluster = Some(vantage(None, reach));
    }
    if cluster.is_none()
        && let Some(unused) = &reach.kubeconfig
    {
        let unused = unused.display();
        let message = format!("--kubeconfig {unused} is for a cluster: give kube: as a source too");
        return Err(Failure::Usage(message));
    }
    if let Some(cluster) = &mut cluster {
        cluster.nodes = nodes.iter().filter_map(Node::host).map(str::to_string).collect();
    }
    let has_others = !(paths.is_empty() && nodes.is_empty() && bmcs.is_empty());
    let is_live = cluster.is_some() || !nodes.is_empty() || !bmcs.is_empty();
    let live = is_live.then(|| Request {
        cluster,
        nodes,
        all_nodes_as,
        bmcs,
        bmcs_of_cluster,
        watched: BTreeSet::new(),
        has_others,
        probes: !reach.no_probe,
        time_servers: reach.ntp_server.clone(),
        patience: Patience {
            request: std::time::Duration::from_secs(reach.request_timeout),
            budget: std::time::Duration::from_secs(reach.timeout),
            ..Patience::default()
        },
        now: now.unwrap_or_else(whole_second),
        clock,
    });
    Ok(Sorted { paths, live })
}

fn twice(what: &str) -> Failure {
    Failure::Usage(format!("{what} is given twice: each is read once"))
}

fn is_at(node: &Node, host: &str) -> bool {
    let bare = |host: &str| host.trim_matches(['[', ']']).to_lowercase();
    node.host().is_some_and(|known| bare(known) == bare(host))
}

/// Of `[USER@]HOST`.
fn user_and_host(destination: &str) -> Result<(Option<&str>, &str), Failure> {
    let (user, host) = match destination.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, destination),
    };
    if destination.starts_with('-') || user == Some("") || host.is_empty() {
        let message = format!("'ssh:{destination}': give a host, as ssh:core@HOST");
        return Err(Failure::Usage(message));
    }
    if let Some((name, port)) = host.rsplit_once(':')
        && (!name.contains(':') || name.ends_with(']'))
        && port.parse::<u16>().is_ok()
    {
        let message = format!(
            "'ssh:{destination}': a port is not taken here\nhint: put it into ~/.ssh/config: Host {name}, Port {port}"
        );
        return Err(Failure::Usage(message));
    }
    Ok((user, host))
}

fn vantage(context: Option<&str>, reach: &Reach) -> Vantage {
    Vantage {
        kubeconfig: reach.kubeconfig.clone(),
        usual_kubeconfigs: usual_kubeconfigs(),
        context: context.filter(|name| !name.is_empty()).map(str::to_string),
        endpoints: reach.endpoint.clone(),
        nodes: Vec::new(),
        roots: vec!["/".into(), "/host".into()],
        proxies: proxies(),
    }
}

/// The first of two spellings counts, as it does for `oc`.
fn proxies() -> Proxies {
    let told = |names: [&str; 2]| {
        let values = names.iter().filter_map(std::env::var_os);
        let mut values = values.filter_map(|value| value.into_string().ok());
        values.find(|value| !value.is_empty())
    };
    Proxies {
        https: told(["HTTPS_PROXY", "https_proxy"]),
        except: told(["NO_PROXY", "no_proxy"]).unwrap_or_default(),
    }
}

/// Those of `$KUBECONFIG`, else the one in the home folder.
fn usual_kubeconfigs() -> Vec<PathBuf> {
    let named = std::env::var_os("KUBECONFIG").filter(|named| !named.is_empty());
    match (named, std::env::home_dir()) {
        (Some(named), _) => std::env::split_paths(&named).collect(),
        (None, Some(home)) => vec![home.join(".kube/config")],
        (None, None) => Vec::new(),
    }
}

#[expect(clippy::disallowed_methods, reason = "live sources have no other time")]
pub fn clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// The time of a reading. Parts of a second tell nobody anything.
fn whole_second() -> jiff::Timestamp {
    let now = clock();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// For a few requests one after the other.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Failure::Internal(anyhow::anyhow!(error)))
}

pub fn no_cluster() -> Failure {
    Failure::Usage("this needs the API of a cluster, such as kube:CONTEXT".into())
}

/// A source as it may be told: without the way to it on this machine.
pub fn shown(source: &Path) -> String {
    match source.to_str().and_then(|text| text.split_once(':')) {
        Some(("kube" | "ssh" | "node" | "bmc", _)) => source.display().to_string(),
        _ => source.file_name().unwrap_or(source.as_os_str()).to_string_lossy().into_owned(),
    }
}

pub fn open(request: Request, progress: &dyn Progress) -> Result<Live, Failure> {
    Live::open(request, progress).map_err(|error| {
        let hint = "hint: name another SOURCE ('--help' lists them), or give --kubeconfig FILE";
        Failure::Unreadable(format!("{error}\n{hint}"))
    })
}

/// Whether a node's journals told of a root. They are read on then, however well the node looks: only they tell
/// that it is over. Others are not, or what always stood in them would look new.
pub fn told_by_journals(root: &EntityId, evidence: &[Evidence]) -> bool {
    let journals = format!("nodes/{}/journal/", root.name);
    root.kind == "Node" && evidence.iter().any(|proof| proof.path.contains(&journals))
}

/// On a terminal, what is being read.
pub fn progress(talk: &Talk) -> Box<dyn Progress> {
    match talk.quiet || !io::stderr().is_terminal() {
        true => Box::new(Silent),
        false => Box::new(Spinner::new()),
    }
}

/// Everything that a diagnosis reads; what is live is read while it comes.
pub fn given(
    args: &Diagnose,
    needs: &Needs,
    watched: &BTreeSet<String>,
) -> Result<Vec<Given>, Failure> {
    let Sorted { paths, live } = sorted(&args.sources, &args.reach, args.now)?;
    if let Some(file) = &args.keep {
        to_be_file("--keep", file)?;
        if live.is_none() {
            return Err(Failure::Usage("--keep keeps live sources, and none is given".into()));
        }
    }
    let mut given: Vec<Given> = paths.into_iter().map(Given::Path).collect();
    if let Some(mut request) = live {
        request.watched.clone_from(watched);
        let progress = progress(&args.talk);
        let live = open(request, &*progress)?;
        let name = live.name().to_string();
        let stream = live.stream(needs.clone(), progress);
        let stream: Box<dyn Read + Send> = match &args.keep {
            Some(file) => {
                let archive = Some(create(file)?);
                Box::new(Kept { stream, archive, file: file.clone() })
            }
            None => stream,
        };
        given.push(Given::Stream { name, stream });
    }
    Ok(given)
}

/// An archive that gets its name when it is finished, and goes away when it never is.
pub struct NewArchive {
    packer: Option<GzEncoder<File>>,
    part: PathBuf,
    file: PathBuf,
}

impl NewArchive {
    /// Gives its size.
    pub fn finish(mut self) -> io::Result<u64> {
        let Some(packer) = self.packer.take() else { return Ok(0) };
        let written = packer.finish()?;
        written.sync_all()?;
        fs_err::rename(&self.part, &self.file)?;
        exit::unfinished(None);
        Ok(written.metadata()?.len())
    }
}

impl Drop for NewArchive {
    fn drop(&mut self) {
        if self.packer.is_some() {
            let _ = fs_err::remove_file(&self.part);
        }
    }
}

impl Write for NewArchive {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.packer {
            Some(packer) => packer.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.packer.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Who types `-` means stdout, and not a file of that name.
pub fn to_be_file(option: &str, file: &Path) -> Result<(), Failure> {
    if file != Path::new("-") {
        return Ok(());
    }
    let message =
        format!("{option} -: nothing but a file is written\nhint: give its name: {option} NAME");
    Err(Failure::Usage(message))
}

/// A new file that only its owner can read. One that is there already is left alone.
pub fn create(file: &Path) -> Result<NewArchive, Failure> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let exists = |path: &Path| Failure::Usage(format!("{} exists already", path.display()));
    if fs_err::symlink_metadata(file).is_ok() {
        return Err(exists(file));
    }
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    match options.open(&part) {
        Ok(new) => {
            exit::unfinished(Some(&part));
            let packer = Some(GzEncoder::new(new, Compression::default()));
            Ok(NewArchive { packer, part, file: file.into() })
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let part = part.display();
            let message = format!(
                "{part} exists already: a capture that was killed may have left it; delete it"
            );
            Err(Failure::Usage(message))
        }
        Err(error) => Err(Failure::Unreadable(format!("cannot write {}: {error}", file.display()))),
    }
}

pub fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A stream that is written to disk while it is read.
struct Kept {
    stream: Box<dyn Read + Send>,
    archive: Option<NewArchive>,
    file: PathBuf,
}

impl Kept {
    /// A full disk is no reason to see less of the cluster.
    fn keep(&mut self, bytes: &[u8]) {
        let Some(mut archive) = self.archive.take() else { return };
        let written = match bytes {
            [] => archive.finish().map(|_| None),
            bytes => archive.write_all(bytes).map(|()| Some(archive)),
        };
        match written {
            Ok(archive) => self.archive = archive,
            Err(error) => complain(&format!("{} is not kept: {error}", self.file.display())),
        }
    }
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.keep(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(sources: &[&str]) -> Option<String> {
        let sources: Vec<PathBuf> = sources.iter().map(PathBuf::from).collect();
        let reach = Reach {
            kubeconfig: None,
            endpoint: Vec::new(),
            no_probe: true,
            ntp_server: Vec::new(),
            request_timeout: 1,
            timeout: 1,
        };
        match sorted(&sources, &reach, None) {
            Ok(_) => None,
            Err(Failure::Usage(message)) => Some(message),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_machine_is_given_once_and_by_a_name_that_ssh_can_take() {
        let refused: [(&[&str], &str); 12] = [
            (&["ssh:core@10.0.0.1", "ssh:core@10.0.0.1"], "10.0.0.1 is given twice"),
            (&["ssh:core@Master-0", "ssh:root@master-0"], "master-0 is given twice"),
            (&["ssh:all", "ssh:root@all"], "every node is given twice"),
            (&["node:/", "node:/"], "/ is given twice"),
            (&["ssh:"], "give a host"),
            (&["ssh:core@"], "give a host"),
            (&["ssh:@10.0.0.1"], "give a host"),
            (&["ssh:-oProxyCommand=x"], "give a host"),
            (&["ssh:core@10.0.0.1:2222"], "Host 10.0.0.1, Port 2222"),
            (&["ssh:[fd00::5]:22"], "~/.ssh/config"),
            (&["bmc:cluster", "bmc:cluster"], "bmc:cluster is given twice"),
            (&["bmc:/no/file", "bmc:/no/file"], "bmc:/no/file is given twice"),
        ];
        for (sources, told) in refused {
            let message = refusal(sources).unwrap_or_default();
            assert!(message.contains(told), "{sources:?}: {message}");
        }
        let taken: [&[&str]; 2] =
            [&["ssh:core@fd00::5", "ssh:core@fd00::6"], &["ssh:a", "ssh:all", "node:/"]];
        for sources in taken {
            assert_eq!(refusal(sources), None, "{sources:?}");
        }
    }

    #[test]
    fn a_dash_is_no_name_of_a_file() {
        assert!(matches!(to_be_file("-o", Path::new("-")), Err(Failure::Usage(_))));
        assert!(to_be_file("-o", Path::new("-.tar.gz")).is_ok());
    }
}
