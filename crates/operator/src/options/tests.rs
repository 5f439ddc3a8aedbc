use super::*;

#[test]
fn copies_elect_a_leader_in_a_cluster_by_default() {
    let pod = Environment { service_host: Some("10.0.0.1".to_owned()), ..Environment::default() };
    let inside = Connection { in_cluster: true, ..Connection::default() };
    let by_environment = Connection::from_environment(None);
    let by_file = Connection { config_paths: vec!["kubeconfig".into()], ..Connection::default() };
    let check = |connection: &Connection, environment: &Environment, asked, expected: bool| {
        let options = Options { leader_elect: asked, ..Options::on(connection.clone()) };
        assert_eq!(options.elects(environment), expected, "{connection:?} {asked:?}");
    };
    check(&inside, &pod, None, true);
    check(&by_environment, &pod, None, true);
    check(&by_environment, &Environment::default(), None, false);
    check(&by_file, &pod, None, false);
    check(&by_file, &pod, Some(true), true);
    check(&inside, &pod, Some(false), false);
}

#[test]
fn a_kubeconfig_in_a_pod_means_another_cluster() {
    let file = std::env::current_exe().unwrap();
    let pod = Environment {
        service_host: Some("10.0.0.1".to_owned()),
        kubeconfig: Some(file.into_os_string()),
        ..Environment::default()
    };
    assert!(!Options::on(Connection::from_environment(None)).elects(&pod));
}
