class GadgetClient(object):
    def __init__(self, config, **kwargs):
        base_client_init_kwargs = {
            'regional_client': True,
            'base_path': '/20260101',
            'service_endpoint_template': 'https://gadgets.{region}.{dualStack?ds.:}oci.{secondLevelDomain}',
        }

    def create_gadget(self, create_gadget_details, **kwargs):
        """
        :param oci.gadget.models.CreateGadgetDetails create_gadget_details: (required)
        """
        required_arguments = []
        resource_path = "/gadgets"
        method = "POST"
        api_reference_link = "https://docs.example.com/#/en/gadget/20260101/Gadget/CreateGadget"
        header_params = {"opc-retry-token": kwargs.get("opc_retry_token", missing)}
        return self.base_client.call_api(resource_path=resource_path, method=method, body=create_gadget_details)

    def get_gadget(self, gadget_id, **kwargs):
        resource_path = "/gadgets/{gadgetId}"
        method = "GET"
        return self.base_client.call_api(resource_path=resource_path, method=method, response_type="Gadget")

    def update_gadget(self, gadget_id, update_gadget_details, **kwargs):
        """
        :param oci.gadget.models.UpdateGadgetDetails update_gadget_details: (required)
        """
        resource_path = "/gadgets/{gadgetId}"
        method = "PUT"
        return self.base_client.call_api(body=update_gadget_details, response_type="Gadget")

    def delete_gadget(self, gadget_id, **kwargs):
        resource_path = "/gadgets/{gadgetId}"
        method = "DELETE"

    def list_gadgets(self, compartment_id, **kwargs):
        required_arguments = ['compartmentId']
        resource_path = "/gadgets"
        method = "GET"
        query_params = {
            "compartmentId": compartment_id,
            "page": kwargs.get("page", missing)
        }
        return self.base_client.call_api(response_type="GadgetCollection")

    def change_gadget_compartment(self, gadget_id, change_gadget_compartment_details, **kwargs):
        """
        :param oci.gadget.models.ChangeGadgetCompartmentDetails change_gadget_compartment_details: (required)
        """
        resource_path = "/gadgets/{gadgetId}/actions/changeCompartment"
        method = "POST"
        return self.base_client.call_api(body=change_gadget_compartment_details)

    def create_engine(self, create_engine_details, **kwargs):
        """
        :param oci.gadget.models.CreateEngineDetails create_engine_details: (required)
        """
        resource_path = "/engines"
        method = "POST"
        return self.base_client.call_api(body=create_engine_details, response_type="Engine")

    def get_engine(self, engine_id, **kwargs):
        resource_path = "/engines/{engineId}"
        method = "GET"
        return self.base_client.call_api(response_type="Engine")

    def update_engine(self, engine_id, update_engine_details, **kwargs):
        """
        :param oci.gadget.models.UpdateEngineDetails update_engine_details: (required)
        """
        resource_path = "/engines/{engineId}"
        method = "PUT"
        return self.base_client.call_api(body=update_engine_details, response_type="Engine")

    def schedule_engine_deletion(self, engine_id, schedule_engine_deletion_details, **kwargs):
        resource_path = "/engines/{engineId}/actions/scheduleDeletion"
        method = "POST"

    def list_engines(self, compartment_id, **kwargs):
        required_arguments = ['compartmentId']
        resource_path = "/engines"
        method = "GET"
        return self.base_client.call_api(response_type="list[Engine]")

    def create_drawer(self, cabinet_name, create_drawer_details, **kwargs):
        """
        :param oci.gadget.models.CreateDrawerDetails create_drawer_details: (required)
        """
        required_arguments = ['cabinetName']
        resource_path = "/c/{cabinetName}/d"
        method = "POST"
        return self.base_client.call_api(body=create_drawer_details, response_type="Drawer")

    def get_drawer(self, cabinet_name, drawer_name, **kwargs):
        resource_path = "/c/{cabinetName}/d/{drawerName}"
        method = "GET"
        return self.base_client.call_api(response_type="Drawer")

    def update_drawer(self, cabinet_name, drawer_name, update_drawer_details, **kwargs):
        """
        :param oci.gadget.models.UpdateDrawerDetails update_drawer_details: (required)
        """
        resource_path = "/c/{cabinetName}/d/{drawerName}"
        method = "POST"
        return self.base_client.call_api(body=update_drawer_details, response_type="Drawer")

    def delete_drawer(self, cabinet_name, drawer_name, **kwargs):
        resource_path = "/c/{cabinetName}/d/{drawerName}"
        method = "DELETE"

    def list_drawers(self, cabinet_name, compartment_id, **kwargs):
        required_arguments = ['cabinetName', 'compartmentId']
        resource_path = "/c/{cabinetName}/d"
        method = "GET"
        return self.base_client.call_api(response_type="list[DrawerSummary]")

    def create_widget(self, create_widget_details, **kwargs):
        resource_path = "/widgets"
        method = "POST"

    def get_widget(self, widget_id, **kwargs):
        resource_path = "/widgets/{widgetId}"
        method = "GET"
        return self.base_client.call_api(response_type="Widget")

    def get_work_request(self, work_request_id, **kwargs):
        resource_path = "/workRequests/{workRequestId}"
        method = "GET"
        return self.base_client.call_api(response_type="WorkRequest")

    def list_work_requests(self, compartment_id, **kwargs):
        resource_path = "/workRequests"
        method = "GET"
        query_params = {
            "compartmentId": compartment_id
        }
