//! A place for states elsewhere, as teams have it: Terraform's `http` backend, in memory.
//!
//! With a state in a local file, Terraform writes all of it anew after every resource. From some hundred objects on that
//! is most of the time, and grows with their square.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// A server for one state; it ends with the process.
pub(crate) struct StateServer {
    address: SocketAddr,
}

impl StateServer {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            let mut state = Vec::new();
            for stream in listener.incoming().flatten() {
                // A client that breaks off asks again or says so itself.
                let _served = serve(&stream, &mut state);
            }
        });
        Ok(Self { address })
    }

    /// The block that makes Terraform use it.
    pub(crate) fn backend(&self) -> String {
        format!("  backend \"http\" {{\n    address = \"http://{}/state\"\n  }}\n", self.address)
    }
}

/// Answers one request.
fn serve(stream: &TcpStream, state: &mut Vec<u8>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let (status, body) = match method.as_str() {
        "POST" => {
            state.resize(length, 0);
            reader.read_exact(state)?;
            ("200 OK", &[][..])
        }
        "GET" if !state.is_empty() => ("200 OK", state.as_slice()),
        _ => ("404 Not Found", &[][..]),
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(body)
}
