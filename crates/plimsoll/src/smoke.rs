//! The smoke workload of `verify --smoke`, taken away again however the run ends.

use std::time::Duration;

use plimsoll_act::smoke::{Smoke, image};
use plimsoll_live::{Patience, Vantage};
use plimsoll_model::EntityId;
use plimsoll_model::verify::{Criterion, Met, Verified};

use crate::args::Verify;
use crate::commands::verify::left;
use crate::exit::{self, Failure};
use crate::live;
use crate::output::note;

const RUNS_WITHIN: Duration = Duration::from_secs(300);
const GONE_WITHIN: Duration = Duration::from_secs(120);
/// Somebody pressed Ctrl-C and waits.
const GONE_ON_INTERRUPT: Duration = Duration::from_secs(20);

/// Adds the criterion. Where the cluster is not well anyway, nothing is made.
pub fn judge(args: &Verify, verified: &mut Verified) -> Result<(), Failure> {
    let criterion =
        |ok, says: String| Criterion { id: "smoke".into(), entity: EntityId::cluster(), ok, says };
    let found = match verified.verified {
        false => criterion(Met::Unknown, "not tried: the rest does not hold".into()),
        true => match attempt(args)? {
            Ok(says) => criterion(Met::Yes, says),
            Err((ok, says)) => criterion(ok, says),
        },
    };
    verified.criteria.push(found);
    verified.criteria.sort();
    if verified.verified
        && let Some(left) = left(&verified.criteria)
    {
        verified.verified = false;
        verified.says = left;
    }
    Ok(())
}

type Tried = Result<String, (Met, String)>;

fn attempt(args: &Verify) -> Result<Tried, Failure> {
    let request = live::sorted(&args.sources, &args.reach, args.now)?.live;
    let request = request.ok_or_else(live::no_cluster)?;
    let vantage = request.cluster.ok_or_else(live::no_cluster)?;
    let patience = request.patience;
    let suffix = suffix()?;
    let runtime = live::runtime()?;
    let tried = runtime.block_on(async {
        let client = plimsoll_live::client(&vantage, patience).await;
        let client = client.map_err(|error| (Met::Unknown, error.to_string()))?;
        let image = image(&client).await.map_err(|refusal| (Met::Unknown, refusal.why))?;
        let none = "no image was found that the cluster has already";
        let smoke = Smoke::new(&suffix, image.ok_or((Met::Unknown, none.to_string()))?);
        note(&args.talk, &format!("smoke workload in namespace {}", smoke.namespace));
        exit::on_interrupt(Some(clearing(smoke.clone(), vantage.clone(), patience)));
        let ran = match smoke.make(&client).await {
            Ok(()) => smoke.runs(&client, RUNS_WITHIN).await,
            Err(refusal) => Err(format!("it could not be made: {refusal}")),
        };
        let cleared = smoke.clear(&client, GONE_WITHIN).await;
        exit::on_interrupt(None);
        match (ran, cleared) {
            (Ok(()), Ok(())) => Ok("a new pod ran in a new namespace; both are gone again".into()),
            (Ok(()), Err(left)) => Err((Met::No, format!("a new pod ran, but {left}"))),
            (Err(why), Ok(())) => Err((Met::No, why)),
            (Err(why), Err(left)) => Err((Met::No, format!("{why}; and {left}"))),
        }
    });
    runtime.shutdown_background();
    Ok(tried)
}

/// By a connection of its own: the other one is in the middle of something.
fn clearing(smoke: Smoke, vantage: Vantage, patience: Patience) -> Box<dyn FnOnce() + Send> {
    Box::new(move || {
        let Ok(runtime) = live::runtime() else { return };
        let cleared = runtime.block_on(async {
            let client = plimsoll_live::client(&vantage, patience).await;
            let client = client.map_err(|error| error.to_string())?;
            smoke.clear(&client, GONE_ON_INTERRUPT).await
        });
        match cleared {
            Ok(()) => anstream::eprintln!("\nthe smoke workload is gone again"),
            Err(left) => anstream::eprintln!("\n{left}"),
        }
        runtime.shutdown_background();
    })
}

fn suffix() -> Result<String, Failure> {
    let mut bytes = [0u8; 4];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Internal(anyhow::anyhow!("no random number: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
