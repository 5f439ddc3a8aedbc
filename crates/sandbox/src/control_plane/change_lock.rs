//! One client at a time changes a sandbox.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::error::Error;
use super::event::Event;
use super::layout::{Layout, Name, make_private_folder, open_private};
use crate::lock::{self, is_at};

/// The right to change a sandbox; given back when it is dropped, or by the kernel when its holder dies.
#[derive(Debug)]
pub(crate) struct ChangeLock {
    /// Closing it gives the lock back.
    file: File,
    path: PathBuf,
}

impl ChangeLock {
    /// Waits until nobody else changes the sandbox.
    pub(crate) fn wait(layout: &Layout, name: &Name, on_event: &mut dyn FnMut(Event)) -> Result<Self, Error> {
        let path = layout.lock();
        let folder = path.parent().expect("the lock is beside the sandbox's folder");
        make_private_folder(folder).map_err(Error::files("write to", folder))?;
        let on_wait = || on_event(Event::Waiting { name: name.clone() });
        let file = lock::wait(&path, || open_private(&path), on_wait).map_err(Error::files("lock", &path))?;
        Ok(Self { file, path })
    }

    /// Takes the lock only if that needs no waiting.
    pub(crate) fn try_take(layout: &Layout) -> io::Result<Option<Self>> {
        let path = layout.lock();
        let file = open_private(&path)?;
        Ok((file.try_lock().is_ok() && is_at(&file, &path)).then_some(Self { file, path }))
    }

    /// Removes the file, because there is nothing left to change.
    pub(crate) fn remove(self) {
        // It does no harm if it stays.
        let _ = fs::remove_file(&self.path);
        drop(self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_removed_while_waited_for_is_not_mistaken_for_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path().join("x"));
        let name = Name::default();
        let first = ChangeLock::wait(&layout, &name, &mut |_| ()).unwrap();
        assert!(ChangeLock::try_take(&layout).unwrap().is_none());
        std::thread::scope(|scope| {
            let mut first = Some(first);
            let (waits, waiting) = std::sync::mpsc::channel();
            let second = scope.spawn(|| {
                let waits = waits;
                ChangeLock::wait(&layout, &name, &mut |_| waits.send(()).unwrap()).unwrap()
            });
            waiting.recv().unwrap();
            first.take().unwrap().remove();
            let second = second.join().unwrap();
            assert!(layout.lock().exists());
            assert!(
                ChangeLock::try_take(&layout).unwrap().is_none(),
                "the second holds the lock of the new file"
            );
            second.remove();
        });
        assert!(!layout.lock().exists());
    }
}
