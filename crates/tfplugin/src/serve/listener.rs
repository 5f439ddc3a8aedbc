//! A place on this machine where Terraform, and nobody else, finds the plugin.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;

use tempfile::TempDir;

use super::handshake::Address;

/// A bound listener, made before there is a runtime: the handshake waits for it, and for nothing else.
pub(super) struct Listener {
    pub(super) address: Address,
    pub(super) socket: Socket,
    /// The folder of the socket, which only this user can enter; it goes with the listener.
    pub(super) folder: Option<TempDir>,
}

pub(super) enum Socket {
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener),
    Tcp(std::net::TcpListener),
}

impl Listener {
    /// Listens at a socket in a fresh folder, or at a port where the system has no such sockets.
    #[cfg(unix)]
    pub(super) fn bind(folder: Option<&Path>, _ports: &RangeInclusive<u16>) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let parent = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let only_us = std::fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("plugin").permissions(only_us).tempdir_in(parent)?;
        let path = folder.path().join("plugin.sock");
        let socket = std::os::unix::net::UnixListener::bind(&path)?;
        socket.set_nonblocking(true)?;
        Ok(Self { address: Address::Unix(path), socket: Socket::Unix(socket), folder: Some(folder) })
    }

    /// Listens at a port, as the system has no sockets in its file system.
    #[cfg(not(unix))]
    pub(super) fn bind(_folder: Option<&Path>, ports: &RangeInclusive<u16>) -> io::Result<Self> {
        Self::bind_port(ports)
    }

    #[cfg_attr(
        all(unix, not(test)),
        expect(dead_code, reason = "for systems without sockets in the file system")
    )]
    pub(super) fn bind_port(ports: &RangeInclusive<u16>) -> io::Result<Self> {
        let mut refused = io::Error::other("there are no ports to listen at");
        for port in ports.clone() {
            match std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))) {
                Ok(socket) => {
                    socket.set_nonblocking(true)?;
                    let address = Address::Tcp(socket.local_addr()?);
                    return Ok(Self { address, socket: Socket::Tcp(socket), folder: None });
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
    #[test]
    fn the_socket_stands_in_a_folder_of_its_own_and_vanishes_with_it() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let listener = Listener::bind(Some(parent.path()), &(0..=0)).unwrap();
        let Address::Unix(path) = listener.address.clone() else { panic!("a path") };
        let folder = path.parent().unwrap();
        assert_eq!(folder.parent(), Some(parent.path()));
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o077, 0);
        drop(listener);
        assert!(!folder.exists());
    }

    #[test]
    fn a_port_that_is_taken_is_passed_over() {
        let first = Listener::bind_port(&(0..=0)).unwrap();
        let Address::Tcp(taken) = first.address else { panic!("a port") };
        assert!(Listener::bind_port(&(taken.port()..=taken.port())).is_err());
    }
}
