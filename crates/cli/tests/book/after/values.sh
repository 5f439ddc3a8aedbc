terraform output -raw address | grep '^198[.]18[.]'
terraform plan -detailed-exitcode
