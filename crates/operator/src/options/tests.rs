use super::*;

#[test]
fn copies_take_turns_in_a_cluster_unless_told_otherwise() {
    let pod = Environment { service_host: Some("10.0.0.1".to_owned()), ..Environment::default() };
    let inside = Connection { in_cluster: true, ..Connection::default() };
    let by_environment = Connection::from_environment(None);
    let by_file = Connection { config_paths: vec!["kubeconfig".into()], ..Connection::default() };
    let check = |connection: &Connection, environment: &Environment, told, expected: bool| {
        let options = Options { leader_elect: told, ..Options::on(connection.clone()) };
        assert_eq!(options.elects(environment), expected, "{connection:?} {told:?}");
    };
    check(&inside, &pod, None, true);
    check(&by_environment, &pod, None, true);
    check(&by_environment, &Environment::default(), None, false);
    check(&by_file, &pod, None, false);
    check(&by_file, &pod, Some(true), true);
    check(&inside, &pod, Some(false), false);
}

#[test]
fn a_kubeconfig_in_a_pod_leads_elsewhere() {
    let file = std::env::current_exe().unwrap();
    let pod = Environment {
        service_host: Some("10.0.0.1".to_owned()),
        kubeconfig: Some(file.into_os_string()),
        ..Environment::default()
    };
    assert!(!Options::on(Connection::from_environment(None)).elects(&pod));
}
