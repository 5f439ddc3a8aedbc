//! Only a browser with the token sees anything, and only by a host name of the server.

use testkit::Sandbox;

use crate::server::Server;

#[tokio::test]
async fn the_token_becomes_a_cookie_and_leaves_the_address() {
    let ns = Sandbox::shared().namespace("ui-access").await;
    let server = Server::start(&ns, &[]);
    let host = ("Host", server.address.as_str());
    for path in ["/", "/operations", "/api/operations", "/live/operations", "/plan"] {
        let refused = server.send(&format!("GET {path}"), &[host], "");
        assert_eq!(refused.status, 401, "{path}");
        assert!(
            refused.body.contains("needs a token") && !refused.body.contains(ns.name()),
            "{}",
            refused.body
        );
    }
    assert_eq!(server.send("GET /?token=0123", &[host], "").status, 401);
    let opened = server.url.split_once(&server.address).unwrap().1.to_owned() + "&q=web";
    let accepted = server.send(&format!("GET {opened}"), &[host], "");
    assert_eq!((accepted.status, accepted.header("location")), (303, Some("/?q=web")));
    let cookie = accepted.header("set-cookie").unwrap();
    assert_eq!(cookie, format!("{}; Path=/; HttpOnly; SameSite=Strict", server.cookie));
    assert_eq!(server.get("/?q=web").status, 200);
    assert_eq!(
        server.send("GET /assets/page.css", &[host], "").status,
        200,
        "it contains nothing of the cluster"
    );
    assert_eq!(server.get("/nowhere").status, 404);
    assert_eq!(server.send("POST /plan", &[host], "manifest=").status, 401);
}

#[tokio::test]
async fn other_hosts_are_refused_and_the_page_is_confined() {
    let ns = Sandbox::shared().namespace("ui-access").await;
    let server = Server::start(&ns, &["--host", "ops.example.org"]);
    let cookie = ("Cookie", server.cookie.as_str());
    for (host, status) in [("evil.example.org", 421), ("ops.example.org", 200), ("localhost:1", 200)] {
        let response = server.send("GET /operations", &[("Host", host), cookie], "");
        assert_eq!(response.status, status, "{host}");
        assert_eq!(response.body.contains("Cloud operations"), status == 200, "{host}: {}", response.body);
    }
    let page = server.get("/operations");
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    // An open page does not keep the server from stopping.
    let _open =
        server.open("GET /live/operations", &[("Host", &server.address), ("Cookie", &server.cookie)], "");
    assert!(server.interrupt().success());
}
