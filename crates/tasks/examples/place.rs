//! A block with two implementations, of which each process uses the one for its place.
//!
//! Processes that have the store open know the settings of a job. Those that speak through them,
//! such as ranks on nodes without a way to the store, ask one of them. Callers see no difference.
//!
//! `cargo run -p tidings-tasks --example place`

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidings_blocks::table::Kinds;
use tidings_blocks::{Asker, Block, Handler, Here, Node, Outbox, Ref, Reply, reply};
use tidings_tasks::blocks::{Blocks, Settings};
use tidings_tasks::net::listen::{Served, listen};
use tidings_tasks::net::store::offer::Offer;
use tidings_tasks::store::Store;
use tidings_tasks::store::address::Address;
use tidings_tasks::store::memory::Memory;

/// To all others: whoever knows says so.
const WHO_KNOWS: &[u8] = b"?";

/// What programs call, at both places.
pub(crate) trait Lookup: Send + Sync {
    /// The value of a setting.
    fn value(&self, name: &str) -> Reply<Option<String>>;
}

/// The kind where the store is open, with the settings.
#[derive(Clone)]
pub(crate) struct Known(pub(crate) Arc<BTreeMap<String, String>>);

impl Lookup for Known {
    fn value(&self, name: &str) -> Reply<Option<String>> {
        let (asker, reply) = reply::ask();
        asker.answer(self.0.get(name).cloned());
        reply
    }
}

impl Handler for Known {
    fn called(&mut self, _call: Box<dyn Any + Send>, _out: &mut Outbox<'_>) {}

    fn received(&mut self, from: Node, name: &[u8], out: &mut Outbox<'_>) {
        if name.is_empty() || name == WHO_KNOWS {
            return; // it knows as well, or was told when one of both was made
        }
        let name = String::from_utf8_lossy(name);
        let value = self.0.get(&*name).map(|value| format!("{name}={value}"));
        out.send(from, value.unwrap_or_else(|| name.into_owned()).into_bytes());
    }

    fn node_joined(&mut self, node: Node, out: &mut Outbox<'_>) {
        out.send(node, Vec::new()); // here is one who knows
    }
}

impl Block for Known {
    const KIND: &'static str = "settings";
    const VERSION: u32 = 1;
    type Interface = dyn Lookup;

    fn represent(&self, _here: Here) -> (Box<dyn Lookup>, Box<dyn Handler>) {
        (Box::new(self.clone()), Box::new(self.clone()))
    }
}

/// The kind at all other places.
pub(crate) struct Asked;

impl Block for Asked {
    const KIND: &'static str = Known::KIND;
    const VERSION: u32 = Known::VERSION;
    type Interface = dyn Lookup;

    fn represent(&self, here: Here) -> (Box<dyn Lookup>, Box<dyn Handler>) {
        (Box::new(Questions(here)), Box::new(Asking::default()))
    }
}

struct Questions(Here);

impl Lookup for Questions {
    fn value(&self, name: &str) -> Reply<Option<String>> {
        let (asker, reply) = reply::ask();
        self.0.call((name.to_owned(), asker));
        reply
    }
}

/// Who knows, and what is asked.
#[derive(Default)]
struct Asking {
    know: BTreeSet<Node>,
    open: BTreeMap<String, Vec<Asker<Option<String>>>>,
}

impl Asking {
    fn ask(&self, name: &str, out: &mut Outbox<'_>) {
        if let Some(node) = self.know.first() {
            out.send(*node, name.as_bytes().to_vec());
        }
    }
}

impl Handler for Asking {
    fn called(&mut self, call: Box<dyn Any + Send>, out: &mut Outbox<'_>) {
        let Ok(call) = call.downcast::<(String, Asker<Option<String>>)>() else { return };
        self.ask(&call.0, out);
        self.open.entry(call.0).or_default().push(call.1);
    }

    fn received(&mut self, from: Node, message: &[u8], out: &mut Outbox<'_>) {
        if message.is_empty() && self.know.insert(from) {
            self.open.keys().for_each(|name| self.ask(name, out));
        }
        if message.is_empty() || message == WHO_KNOWS {
            return;
        }
        let text = String::from_utf8_lossy(message);
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (&*text, None),
        };
        for asker in self.open.remove(name).unwrap_or_default() {
            asker.answer(value.clone());
        }
    }

    fn node_joined(&mut self, node: Node, out: &mut Outbox<'_>) {
        out.send(node, WHO_KNOWS.to_vec());
    }

    fn node_lost(&mut self, node: Node, out: &mut Outbox<'_>) {
        // What it was asked last is asked of the next one.
        if self.know.remove(&node) {
            self.open.keys().for_each(|name| self.ask(name, out));
        }
    }
}

/// Both implementations: the runtime picks by place.
pub(crate) fn kinds() -> Kinds {
    let settings = [("photons".to_owned(), "4000000".to_owned())];
    Kinds::default().by_place(Known(Arc::new(settings.into())), Asked)
}

/// Two processes in one: the first has the store open and offers it, the second speaks through it.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (store, own): (Arc<dyn Store>, _) = (Arc::new(Memory::default()), Settings::here("job"));
    let listener = listen(&own.listen, &own.own, &own.host).await?;
    let address = Address::Tcp(listener.reached().clone());
    let offer = Some(Offer::of_blocks(store.clone()));
    tokio::spawn(listener.serve(Served { store: offer, ..Served::default() }));
    let direct = Blocks::join(store, kinds(), own.clone()).await?;
    let through = Blocks::join_reached(address.reach(&own.own).await?, kinds(), own).await?;
    for blocks in [&direct, &through] {
        let settings: Ref<Known> = blocks.open("settings").await?;
        let photons = settings.value("photons").await?;
        println!("process {}: {}", blocks.node(), photons.unwrap_or_default());
    }
    Ok(())
}
