//! Servers on the loopback, right and wrong ones, and how they are asked.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod mirror;
pub mod namespace;
pub mod pki;
pub mod real;

use std::future::Future;
use std::time::Duration;

use plimsoll_model::Time;
use plimsoll_probe::{Answer, Patience, Plan, Probe, Target, run};
use tokio::net::{TcpListener, TcpStream};

pub const LONG: Duration = Duration::from_secs(60);

pub fn now() -> Time {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// With so much patience that a slow machine makes no difference.
pub async fn ask(probe: Probe) -> Answer {
    ask_within(probe, LONG).await
}

pub async fn ask_within(probe: Probe, limit: Duration) -> Answer {
    let plan = Plan { probes: vec![probe], at_once: 1 };
    let patience = Patience { probe: limit, budget: 2 * LONG };
    run(&plan, patience, "workstation", now).await.remove(0)
}

/// Does the same with every connection, until the test ends. The number says which it is.
pub async fn serve<F>(each: impl Fn(usize, TcpStream) -> F + Send + 'static) -> Target
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(each(number, stream));
        }
    });
    Target::new("127.0.0.1", port)
}

/// A port on which nothing listens, for as long as the socket lives that is bound to it.
pub async fn closed() -> (Target, tokio::net::TcpSocket) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    (Target::new("127.0.0.1", socket.local_addr().unwrap().port()), socket)
}
