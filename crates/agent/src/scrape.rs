//! The metrics for a monitoring system on another machine, which shows a token.
//!
//! Of the pages of `http` only those for monitoring are here, none of which changes anything. Each
//! request says `Authorization: Bearer TOKEN` (RFC 6750), as Prometheus does with
//! `authorization.credentials_file`; any other gets 401 and learns nothing. The token goes over the
//! network as it is: where others may listen, a proxy with TLS belongs before this endpoint.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tidings_web::serving;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::warn;

use crate::http;
use crate::question::Asker;
use crate::socket::BindError;
use crate::token::Token;

/// Binds to `address`.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    http::bind(address, "--scrape").await
}

/// Serves those who show the token of the moment, until `closing` becomes true.
pub(crate) async fn serve(
    listener: TcpListener,
    asker: Asker,
    token: watch::Receiver<Option<Token>>,
    mut closing: watch::Receiver<bool>,
) {
    let closed = async move {
        let _ = closing.wait_for(|closing| *closing).await;
    };
    let served = serving::serve_others(listener, router(asker, token), closed).await;
    if let Err(error) = served {
        warn!(%error, "the endpoint for scrapes ended");
    }
}

fn router(asker: Asker, token: watch::Receiver<Option<Token>>) -> Router {
    let pages = http::metrics_routes().with_state(asker);
    pages.layer(middleware::from_fn_with_state(token, authorise))
}

async fn authorise(
    State(token): State<watch::Receiver<Option<Token>>>,
    request: Request,
    next: Next,
) -> Response {
    let is_shown = token.borrow().is_some_and(|token| token.is_shown(request.headers()));
    if is_shown {
        return next.run(request).await;
    }
    let wants = [(header::WWW_AUTHENTICATE, "Bearer realm=\"tidings\"")];
    let reason = "this endpoint needs the header `Authorization: Bearer TOKEN`\n";
    (StatusCode::UNAUTHORIZED, wants, reason).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use tower::ServiceExt;

    const TOKEN: &str = "hJ4x5s0gVqf2bG7kTz1w";

    /// What a request of `path` with these headers gets from an agent whose loop has ended.
    async fn status(path: &str, shown: &[&str]) -> StatusCode {
        let (_sender, token) = watch::channel(Some(Token::parse(TOKEN).expect("long enough")));
        let (asker, _) = crate::question::channel();
        let mut request = Request::get(path);
        for shown in shown {
            request = request.header(header::AUTHORIZATION, *shown);
        }
        let request = request.body(Body::empty()).expect("a valid request");
        router(asker, token).oneshot(request).await.expect("a router does not fail").status()
    }

    #[tokio::test]
    async fn only_who_shows_the_token_is_answered() {
        let right = format!("Bearer {TOKEN}");
        assert_eq!(status("/healthz", &[&right]).await, StatusCode::SERVICE_UNAVAILABLE);
        let lower = format!("bearer  {TOKEN} ");
        assert_eq!(status("/metrics", &[&lower]).await, StatusCode::SERVICE_UNAVAILABLE);
        let longer = format!("Bearer {TOKEN}x");
        let basic = format!("Basic {TOKEN}");
        for shown in [&[][..], &["Bearer"], &["Bearer "], &[&longer], &[&basic], &[&right, &right]]
        {
            for path in ["/metrics", "/metrics/nodes", "/healthz", "/nothing"] {
                assert_eq!(status(path, shown).await, StatusCode::UNAUTHORIZED, "{shown:?}");
            }
        }
    }

    #[tokio::test]
    async fn there_is_nothing_but_what_monitoring_reads() {
        let right = format!("Bearer {TOKEN}");
        for path in ["/", "/v1/nodes", "/v1/status", "/page.js"] {
            assert_eq!(status(path, &[&right]).await, StatusCode::NOT_FOUND, "{path}");
        }
    }
}
