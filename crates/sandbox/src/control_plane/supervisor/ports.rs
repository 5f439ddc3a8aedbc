//! Free ports on 127.0.0.1.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::control_plane::flags::Ports;

/// Picks ports that are free now; the API server gets `wanted`, if there is such a wish.
pub(super) fn pick(wanted: Option<u16>) -> io::Result<Ports> {
    // All are bound at once, so that they differ.
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners = [listen()?, listen()?, listen()?];
    let port = |listener: &TcpListener| Ok::<_, io::Error>(listener.local_addr()?.port());
    Ok(Ports {
        apiserver: wanted.map_or_else(|| port(&listeners[0]), Ok)?,
        etcd_client: port(&listeners[1])?,
        etcd_peer: port(&listeners[2])?,
    })
}
