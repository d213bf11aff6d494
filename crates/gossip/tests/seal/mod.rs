//! The seal of a datagram, opened by nothing but the words of docs/protocol.md.

use xaes_256_gcm::aead::{AeadInOut, KeyInit};
use xaes_256_gcm::{Nonce, Tag, Xaes256Gcm};

/// The body of a datagram that was sealed with this key.
pub(crate) fn opened(key: [u8; 32], datagram: &[u8]) -> Vec<u8> {
    let (head, sealed) = datagram.split_at(28);
    let (body, tag) = sealed.split_at(sealed.len() - 16);
    let mut body = body.to_vec();
    let nonce = Nonce::try_from(&head[4..28]).expect("24 bytes");
    let tag = Tag::try_from(tag).expect("16 bytes");
    Xaes256Gcm::new(&key.into())
        .decrypt_inout_detached(&nonce, head, body.as_mut_slice().into(), &tag)
        .expect("the seal holds");
    body
}
