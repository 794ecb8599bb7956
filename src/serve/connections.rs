//! Listening, time limits, and a graceful stop.

use super::{Service, router};
use crate::cmd::say;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// How long a client may take to send a request's head; an idle connection is closed after it too.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long open requests may take once the service stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Most connections at a time; further ones wait.
const MAX_CONNECTIONS: usize = 256;

/// Where the service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// A loopback address.
    Tcp(SocketAddr),
    /// A Unix socket, made for the run.
    Unix(PathBuf),
}

/// Serves until the process is told to stop (interrupt or termination), then finishes what it has begun.
///
/// # Errors
/// When the address or socket cannot be bound.
pub async fn run(door: &Door, service: Arc<Service>) -> io::Result<()> {
    let listener = Listener::bind(door)?;
    let graceful = GracefulShutdown::new();
    let routes = router(service);
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut stop = std::pin::pin!(stopped());
    loop {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await.map_err(io::Error::other)?;
            listener.accept().await.map(|stream| (stream, slot))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, slot)) => {
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes.clone()));
                let connection = graceful.watch(connection);
                tokio::spawn(async move {
                    // a client that breaks off is no event of ours
                    drop(connection.await);
                    drop(slot);
                });
            }
            Err(error) => {
                // such as too many open files: others may still be answered
                say(&format!("foldline: a connection was not accepted: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(STOP_TIMEOUT, graceful.shutdown()).await.is_err() {
        say("foldline: some requests did not end in time");
    }
    Ok(())
}

/// A byte stream of either kind of listener.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener, PathBuf),
}

impl Listener {
    fn bind(door: &Door) -> io::Result<Listener> {
        match door {
            Door::Tcp(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                say(&format!("foldline: listening on http://{}", listener.local_addr()?));
                TcpListener::from_std(listener).map(Listener::Tcp)
            }
            #[cfg(unix)]
            Door::Unix(path) => {
                use std::os::unix::fs::{FileTypeExt, PermissionsExt};
                if let Ok(found) = std::fs::symlink_metadata(path) {
                    if !found.file_type().is_socket() || std::os::unix::net::UnixStream::connect(path).is_ok() {
                        return Err(io::Error::new(io::ErrorKind::AddrInUse, "the path is in use"));
                    }
                    std::fs::remove_file(path)?;
                }
                let listener = tokio::net::UnixListener::bind(path)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                say(&format!("foldline: listening on {}", path.display()));
                Ok(Listener::Unix(listener, path.clone()))
            }
            #[cfg(not(unix))]
            Door::Unix(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets")),
        }
    }

    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
            #[cfg(unix)]
            Listener::Unix(listener, _) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}

#[cfg(unix)]
impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // somebody may have removed it already
            std::fs::remove_file(path).unwrap_or_default();
        }
    }
}

/// Waits for interrupt or termination.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut termination) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = termination.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    drop(tokio::signal::ctrl_c().await);
}
