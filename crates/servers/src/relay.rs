//! A relay in front of a server that can stop passing bytes on, as a network that drops all packets does.

use parking_lot::{Condvar, Mutex};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Bytes passed on at a time.
const CHUNK: usize = 16 * 1024;

/// Passes bytes between the clients of its port and a server on another port of the loopback interface.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    is_cut: Mutex<bool>,
    mended: Condvar,
    is_over: AtomicBool,
}

impl Relay {
    /// Starts a relay to the server on this port.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(server: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let (port, state) = (listener.local_addr()?.port(), Arc::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(called) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                for (from, to) in [(&caller, &called), (&called, &caller)] {
                    if let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) {
                        let shared = Arc::clone(&shared);
                        thread::spawn(move || pass(from, to, &shared));
                    }
                }
            }
        });
        Ok(Self { port, state })
    }

    /// The port to connect to instead of the server's.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Passes nothing on until [`Relay::mend`]; connections stay open and are accepted.
    pub fn cut(&self) {
        self.state.set_cut(true);
    }

    /// Passes everything on again, what was held back first.
    pub fn mend(&self) {
        self.state.set_cut(false);
    }
}

impl State {
    fn set_cut(&self, is_cut: bool) {
        *self.is_cut.lock() = is_cut;
        self.mended.notify_all();
    }

    fn wait(&self) {
        let mut is_cut = self.is_cut.lock();
        while *is_cut && !self.is_over.load(Ordering::Relaxed) {
            self.mended.wait(&mut is_cut);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        state.wait();
        if state.is_over.load(Ordering::Relaxed) || to.write_all(&chunk[..read]).is_err() {
            break;
        }
    }
    // This ends the other direction too.
    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        self.state.set_cut(false);
        // Wakes the listener, which then ends.
        let _woken = TcpStream::connect(("127.0.0.1", self.port));
    }
}
