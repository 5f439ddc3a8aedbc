module plimsoll.dev/terraform/backend

go 1.25
