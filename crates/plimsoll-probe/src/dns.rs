//! What a resolver says of a name or an address. One question, one resolver, one answer: nothing is
//! cached and nothing is searched, so that the answer is the resolver's own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use crate::answer::Outcome;
use crate::connect::{connect_to, share};
use crate::reach::{Reach, shown};

const RESOLV_CONF: &str = "/etc/resolv.conf";
/// As the C library: the first three count.
const NAMESERVERS: usize = 3;
const TRIES: usize = 2;
const PORT: u16 = 53;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsProbe {
    pub question: Question,
    pub resolver: Resolver,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    A(String),
    Aaaa(String),
    Ptr(IpAddr),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolver {
    /// The first of those in `/etc/resolv.conf` that answers.
    System,
    At(SocketAddr),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// Sorted.
    Addresses(Vec<IpAddr>),
    /// Sorted.
    Names(Vec<String>),
    /// The name exists, without a record of this type.
    NoData,
    Nxdomain,
    Refused,
    Servfail,
    Rcode(u16),
    Nonsense,
}

impl Question {
    fn name(&self) -> Option<Name> {
        let mut name = match self {
            Question::A(name) | Question::Aaaa(name) => Name::from_ascii(name).ok()?,
            Question::Ptr(address) => Name::from(*address),
        };
        name.set_fqdn(true);
        Some(name)
    }

    fn kind(&self) -> RecordType {
        match self {
            Question::A(_) => RecordType::A,
            Question::Aaaa(_) => RecordType::AAAA,
            Question::Ptr(_) => RecordType::PTR,
        }
    }

    /// `a`, `aaaa`, `ptr`
    pub fn kind_name(&self) -> &'static str {
        match self {
            Question::A(_) => "a",
            Question::Aaaa(_) => "aaaa",
            Question::Ptr(_) => "ptr",
        }
    }

    pub fn subject(&self) -> String {
        match self {
            Question::A(name) | Question::Aaaa(name) => name.clone(),
            Question::Ptr(address) => address.to_string(),
        }
    }
}

impl DnsProbe {
    pub async fn ask(&self, limit: Duration) -> (Option<IpAddr>, Outcome) {
        let deadline = Instant::now() + limit;
        let Some(name) = self.question.name() else {
            return (None, Reach::Other("DNS cannot have this name".into()).into());
        };
        let query = Query::query(name, self.question.kind());
        let resolvers = match self.resolver {
            Resolver::At(address) => vec![address],
            Resolver::System => system(Path::new(RESOLV_CONF)),
        };
        let mut first = None;
        for (asked, resolver) in resolvers.iter().enumerate() {
            let until = Instant::now() + share(deadline, resolvers.len() - asked);
            match ask(*resolver, &query, until).await {
                Ok(said) => {
                    return (Some(resolver.ip()), Outcome::Dns { resolver: *resolver, said });
                }
                Err(why) => {
                    first.get_or_insert((Some(resolver.ip()), Outcome::from(why)));
                }
            }
        }
        first.unwrap_or_else(|| (None, Reach::Other("there is no resolver".into()).into()))
    }
}

async fn ask(resolver: SocketAddr, query: &Query, deadline: Instant) -> Result<Said, Reach> {
    let request = request(query)?;
    match by_udp(resolver, &request, deadline).await? {
        Some(said) => Ok(said),
        None => by_tcp(resolver, &request, deadline).await,
    }
}

struct Asked {
    id: u16,
    query: Query,
    bytes: Vec<u8>,
}

fn request(query: &Query) -> Result<Asked, Reach> {
    let mut id = [0; 2];
    let odd = |why: &str| Reach::Other(why.into());
    aws_lc_rs::rand::fill(&mut id).map_err(|_| odd("no random numbers"))?;
    let id = u16::from_be_bytes(id);
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(query.clone());
    let bytes = message.to_vec().map_err(|_| odd("DNS cannot have this name"))?;
    Ok(Asked { id, query: query.clone(), bytes })
}

/// Nothing for an answer that is too long for UDP.
async fn by_udp(
    resolver: SocketAddr,
    asked: &Asked,
    deadline: Instant,
) -> Result<Option<Said>, Reach> {
    let failed = |error: io::Error| Reach::of(&error);
    let here: IpAddr = if resolver.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((here, 0)).await.map_err(failed)?;
    socket.connect(resolver).await.map_err(failed)?;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    for left in (1..=TRIES).rev() {
        socket.send(&asked.bytes).await.map_err(failed)?;
        let until = Instant::now() + share(deadline, left);
        while let Ok(got) = timeout_at(until, socket.recv(&mut buffer)).await {
            match read(&buffer[..got.map_err(failed)?], asked.id, &asked.query) {
                Read::NotOurs => {}
                Read::Truncated => return Ok(None),
                Read::Said(said) => return Ok(Some(said)),
            }
        }
    }
    Err(Reach::TimedOut)
}

async fn by_tcp(resolver: SocketAddr, asked: &Asked, deadline: Instant) -> Result<Said, Reach> {
    let mut stream = connect_to(resolver, share(deadline, 1)).await?;
    let exchange = async {
        let length = u16::try_from(asked.bytes.len()).unwrap_or(u16::MAX);
        stream.write_all(&[&length.to_be_bytes()[..], &asked.bytes].concat()).await?;
        let mut answer = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut answer).await?;
        Ok(answer)
    };
    match timeout_at(deadline, exchange).await {
        Ok(Ok(answer)) => match read(&answer, asked.id, &asked.query) {
            Read::Said(said) => Ok(said),
            Read::NotOurs | Read::Truncated => Ok(Said::Nonsense),
        },
        Ok(Err(error)) => Err(Reach::of(&error)),
        Err(_) => Err(Reach::TimedOut),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// Of somebody else, or for somebody else: as if it had not come.
    NotOurs,
    Truncated,
    Said(Said),
}

pub fn read(bytes: &[u8], id: u16, query: &Query) -> Read {
    let Ok(message) = Message::from_vec(bytes) else {
        let ours = bytes.get(..2) == Some(&id.to_be_bytes()[..]);
        return if ours { Read::Said(Said::Nonsense) } else { Read::NotOurs };
    };
    let about = &message.metadata;
    // A server that refuses or fails may leave the question out.
    let other = |asked: &Query| asked.name != query.name || asked.query_type != query.query_type;
    if about.id != id
        || about.message_type != MessageType::Response
        || message.queries.iter().any(other)
    {
        return Read::NotOurs;
    }
    if about.truncation {
        return Read::Truncated;
    }
    Read::Said(match about.response_code {
        ResponseCode::NoError => records(&message, query.query_type),
        ResponseCode::NXDomain => Said::Nxdomain,
        ResponseCode::Refused => Said::Refused,
        ResponseCode::ServFail => Said::Servfail,
        other => Said::Rcode(other.into()),
    })
}

fn records(message: &Message, kind: RecordType) -> Said {
    let mut addresses = Vec::new();
    let mut names = Vec::new();
    for record in message.answers.iter().filter(|record| record.record_type() == kind) {
        match &record.data {
            RData::A(address) => addresses.push(IpAddr::V4(address.0)),
            RData::AAAA(address) => addresses.push(IpAddr::V6(address.0)),
            RData::PTR(name) => names.push(shown(name.0.to_ascii().trim_end_matches('.'))),
            _ => {}
        }
    }
    addresses.sort();
    addresses.dedup();
    names.sort();
    names.dedup();
    if !addresses.is_empty() {
        Said::Addresses(addresses)
    } else if !names.is_empty() {
        Said::Names(names)
    } else {
        Said::NoData
    }
}

fn system(path: &Path) -> Vec<SocketAddr> {
    std::fs::read_to_string(path).map(|text| nameservers(&text)).unwrap_or_default()
}

fn nameservers(resolv_conf: &str) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        Some(SocketAddr::new(address.parse().ok()?, PORT))
    };
    resolv_conf.lines().filter_map(address).take(NAMESERVERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolvers_of_this_machine_are_those_of_its_file() {
        let text = "# nameserver 1.1.1.1\nsearch lab\nnameserver 192.0.2.1\n nameserver\t2001:db8::1\n\
                    nameserver fe80::1%eth0\noptions x\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n";
        let expected = ["192.0.2.1:53", "[2001:db8::1]:53", "192.0.2.3:53"];
        assert_eq!(nameservers(text).iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        assert!(system(Path::new("/no/such/file")).is_empty());
    }

    #[test]
    fn an_answer_for_somebody_else_is_none() {
        let query = Query::query(Name::from_ascii("api.lab.").unwrap(), RecordType::A);
        let asked = request(&query).unwrap();
        let mut reply = Message::from_vec(&asked.bytes).unwrap().into_response();
        let bytes = |reply: &Message| reply.to_vec().unwrap();
        assert_eq!(read(&bytes(&reply), asked.id, &query), Read::Said(Said::NoData));
        assert_eq!(read(&bytes(&reply), asked.id ^ 1, &query), Read::NotOurs);
        assert_eq!(read(&asked.bytes, asked.id, &query), Read::NotOurs, "our own question");
        let other = Query::query(Name::from_ascii("api.other.").unwrap(), RecordType::A);
        assert_eq!(read(&bytes(&reply), asked.id, &other), Read::NotOurs);
        reply.metadata.truncation = true;
        assert_eq!(read(&bytes(&reply), asked.id, &query), Read::Truncated);
        assert_eq!(read(b"", asked.id, &query), Read::NotOurs);
        let cut = &bytes(&reply)[..14];
        assert_eq!(read(cut, asked.id, &query), Read::Said(Said::Nonsense));
    }

    #[test]
    fn a_name_that_dns_cannot_have_is_no_question() {
        assert!(Question::A("a".repeat(64)).name().is_none());
        let reverse = Question::Ptr("192.0.2.5".parse().unwrap());
        assert_eq!(reverse.name().unwrap().to_ascii(), "5.2.0.192.in-addr.arpa.");
    }
}
