//! A configuration with one provider, ready to be run.

use std::error::Error;
use std::{fs, io};

use clap::ValueEnum;
use testkit::terraform::{Client, Workspace};

use crate::peer::Peer;
use crate::state_server::StateServer;

/// Where the state is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// In a file beside the configuration, which Terraform writes anew after every resource.
    Local,
    /// On a server, as teams have it.
    Http,
}

/// A place for one state.
pub(crate) struct Backend(pub(crate) String);

impl Backend {
    pub(crate) fn start(state: State) -> io::Result<Self> {
        Ok(Self(match state {
            State::Local => String::new(),
            State::Http => StateServer::start()?.backend(),
        }))
    }
}

/// A folder in which `client` finds the provider of `peer`, initialised.
pub(crate) fn prepare(
    client: &Client,
    peer: &Peer,
    Backend(backend): &Backend,
) -> Result<Workspace, Box<dyn Error>> {
    const VERSION: &str = "0.0.1";
    let workspace = Workspace::new(client.clone(), &[]);
    let name = peer.address.rsplit('/').next().unwrap_or(peer.address);
    let mirror = workspace.path("mirror");
    // Go's name for the machine; sandboxes need Linux anyway.
    let machine = if cfg!(target_arch = "aarch64") { "linux_arm64" } else { "linux_amd64" };
    let package = mirror.join(peer.address).join(VERSION).join(machine);
    fs::create_dir_all(&package)?;
    fs::copy(&peer.program, package.join(format!("terraform-provider-{name}_v{VERSION}")))?;
    workspace.write(
        "client.tfrc",
        &format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\n",
            mirror.display().to_string()
        ),
    );
    workspace.write(
        "providers.tf",
        &format!(
            "terraform {{\n{backend}  required_providers {{\n    {name} = {{ source = {:?} }}\n  }}\n}}\n",
            peer.address
        ),
    );
    workspace.run(&["init", "-no-color", "-input=false"]).expect_success();
    Ok(workspace)
}
