//! Listens where only Terraform, run by the same user, can connect.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;

use tempfile::TempDir;

use super::handshake::Address;
use super::incoming::Connection;

pub(super) struct Listener {
    pub(super) address: Address,
    pub(super) socket: Socket,
    /// The folder of the socket, accessible to this user only; removed with the listener.
    pub(super) folder: Option<TempDir>,
}

pub(super) enum Socket {
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
    Tcp(tokio::net::TcpListener),
}

impl Socket {
    pub(super) async fn accept(&self) -> io::Result<Connection> {
        match self {
            #[cfg(unix)]
            Self::Unix(socket) => Ok(Box::new(socket.accept().await?.0)),
            Self::Tcp(socket) => Ok(Box::new(socket.accept().await?.0)),
        }
    }
}

impl Listener {
    /// Listens on a Unix socket in a new folder. Needs a runtime.
    #[cfg(unix)]
    pub(super) fn bind(folder: Option<&Path>, _ports: &RangeInclusive<u16>) -> io::Result<Self> {
        let parent = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        match Self::bind_in(&parent) {
            // The path of a socket has at most about 100 bytes, and a runner's temporary folder may be longer.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Self::bind_in(Path::new("/tmp")),
            bound => bound,
        }
    }

    #[cfg(unix)]
    fn bind_in(parent: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let named = |path: &Path, error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen in {}: {error}", path.display()))
        };
        let only_us = std::fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("plugin").permissions(only_us).tempdir_in(parent);
        let folder = folder.map_err(|error| named(parent, error))?;
        let path = folder.path().join("plugin.sock");
        let socket = tokio::net::UnixListener::bind(&path).map_err(|error| named(&path, error))?;
        let address = Address { network: "unix", address: path.display().to_string() };
        Ok(Self { address, socket: Socket::Unix(socket), folder: Some(folder) })
    }

    /// Listens on a port, where there are no Unix sockets. Needs a runtime.
    #[cfg(not(unix))]
    pub(super) fn bind(_folder: Option<&Path>, ports: &RangeInclusive<u16>) -> io::Result<Self> {
        Self::bind_port(ports)
    }

    #[cfg_attr(all(unix, not(test)), expect(dead_code, reason = "for systems without Unix sockets"))]
    pub(super) fn bind_port(ports: &RangeInclusive<u16>) -> io::Result<Self> {
        let mut refused = io::Error::other("the range of ports is empty");
        for port in ports.clone() {
            match std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))) {
                Ok(socket) => {
                    socket.set_nonblocking(true)?;
                    let address = Address { network: "tcp", address: socket.local_addr()?.to_string() };
                    return Ok(Self {
                        address,
                        socket: Socket::Tcp(tokio::net::TcpListener::from_std(socket)?),
                        folder: None,
                    });
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[tokio::test]
    async fn the_socket_is_in_a_private_folder_that_is_removed_with_it() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let listener = Listener::bind(Some(parent.path()), &(0..=0)).unwrap();
        let folder = Path::new(&listener.address.address).parent().unwrap().to_owned();
        assert_eq!(folder.parent(), Some(parent.path()));
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o077, 0);
        drop(listener);
        assert!(!folder.exists());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_folder_whose_path_is_too_long_is_replaced_by_a_short_one() {
        let parent = tempfile::tempdir().unwrap();
        let long = parent.path().join("x".repeat(120));
        std::fs::create_dir(&long).unwrap();
        let listener = Listener::bind(Some(&long), &(0..=0)).unwrap();
        assert!(listener.address.address.starts_with("/tmp/plugin"), "{}", listener.address.address);
        assert_eq!(std::fs::read_dir(&long).unwrap().count(), 0);
        let missing = Listener::bind(Some(Path::new("/nowhere")), &(0..=0)).err().unwrap();
        assert!(missing.to_string().contains("/nowhere"), "{missing}");
    }

    #[tokio::test]
    async fn a_port_in_use_is_skipped() {
        let first = Listener::bind_port(&(0..=0)).unwrap();
        let taken: SocketAddr = first.address.address.parse().unwrap();
        assert!(Listener::bind_port(&(taken.port()..=taken.port())).is_err());
    }
}
